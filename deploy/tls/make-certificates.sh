#!/bin/sh
# Certificates for TLS between flow, Dask scheduler and Dask workers, which prove themselves to each
# other: whoever has one may run code on the cluster, nobody else can.
#
#   make-certificates.sh DIRECTORY [DAYS [ROLE ...]]
#
# Writes ca.pem and, for scheduler, worker and flow (or the roles given) each, NAME.pem and NAME.key.
# What is there and good for 30 more days is left alone. The key of the authority is thrown away, so
# that nobody can sign further certificates; to renew, run this again and restart all of them.
set -eu

directory=${1:?give the directory to write to}
days=${2:-365}
if [ $# -gt 2 ]; then
    shift 2
    roles=$*
else
    roles="scheduler worker flow"
fi
enough=$((30 * 24 * 3600))

kept=true
for file in ca $roles; do
    if ! openssl x509 -in "$directory/$file.pem" -noout -checkend "$enough" >/dev/null 2>&1; then
        kept=false
    fi
done
if [ "$kept" = true ]; then
    echo "certificates in $directory are good for 30 more days"
    exit 0
fi

umask 077
mkdir -p "$directory"
work=$(mktemp -d "$directory/.new.XXXXXX")
trap 'rm -rf "$work"' EXIT

new_key() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$1"
}

new_key "$work/authority"
openssl req -new -x509 -key "$work/authority" -days "$days" -subj "/CN=urlr authority" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign" \
    -out "$work/ca.pem"
printf '%s\n' "basicConstraints=critical,CA:FALSE" "keyUsage=critical,digitalSignature" \
    "extendedKeyUsage=serverAuth,clientAuth" >"$work/extensions"
for role in $roles; do
    new_key "$work/$role.key"
    openssl req -new -key "$work/$role.key" -subj "/CN=urlr $role" -out "$work/request"
    openssl x509 -req -in "$work/request" -CA "$work/ca.pem" -CAkey "$work/authority" \
        -set_serial "0x$(openssl rand -hex 16)" -days "$days" -extfile "$work/extensions" \
        -out "$work/$role.pem" 2>/dev/null
done
rm "$work/authority" "$work/extensions" "$work/request"
mv -f "$work"/* "$directory/"
echo "certificates in $directory for $days days"
