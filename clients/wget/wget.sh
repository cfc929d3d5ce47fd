#!/bin/sh
# wget with these arguments, and then the status that it tells of: in words on stderr, as
# "ERROR 503: Service Unavailable", after which it ends with 8, or with 6 for a 401. Such an
# answer is shown by printing the status and ending with 0, as curl does.

# Its words in English.
LC_ALL=C
export LC_ALL

said=$(wget "$@" 2>&1)
code=$?
printf '%s\n' "$said" >&2

status=
case $code:$said in
    6:*) status=401 ;;
    8:*" ERROR "[1-9][0-9][0-9]:*)
        status=${said##* ERROR }
        status=${status%%:*}
        ;;
esac
[ -n "$status" ] || exit "$code"
printf '%s\n' "$status"
