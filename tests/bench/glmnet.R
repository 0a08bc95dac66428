# The lasso path of glmnet on a problem written by glmnet.py; only the call itself is timed.
# Rscript glmnet.R FOLDER MOST: MOST is pmax, 0 for glmnet's own; an empty lambda.bin its own grid.
suppressMessages(library(glmnet))
args <- commandArgs(trailingOnly = TRUE)
numbers <- function(name, n) readBin(file.path(args[1], name), "double", n)
w <- numbers("w.bin", 1e7)
n <- length(w)
y <- numbers("y.bin", n)
x <- matrix(numbers("x.bin", n * n), n, n)
lambda <- numbers("lambda.bin", 1e7)
if (length(lambda) == 0) lambda <- NULL
most <- if (args[2] == "0") n else as.integer(args[2])
cat("loaded\n")
flush(stdout())
seconds <- system.time(suppressWarnings(  # that pmax was reached is no surprise
  fit <- glmnet(x, y, standardize = FALSE, intercept = FALSE, penalty.factor = w,
                pmax = most, lambda = lambda)
))["elapsed"]
column <- rep(seq_len(ncol(fit$beta)), diff(fit$beta@p))
first <- tapply(column, factor(fit$beta@i + 1, levels = seq_len(n)), min)
entry <- ifelse(is.na(first), 0, fit$lambda[first])
writeBin(as.double(c(seconds, length(fit$lambda), entry)), file.path(args[1], "result.bin"))
