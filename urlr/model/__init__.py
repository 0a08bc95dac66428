"""The default's ranking model: tuning, the fit, its intervals, and what the top rests on."""
