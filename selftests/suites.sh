# SPDX-License-Identifier: GPL-2.0-only
#
# What check.sh and check-debug.sh share: run suites, keep their TAP, count.
# A suite is a command that prints TAP (or KTAP).  Its lines are counted by
# tally.awk; a suite that prints no plan, stops early, or exits with an error
# counts as one failure more, so that a suite that did not run can't pass.

cd "$(dirname "$0")/.." || exit 1
TOP=$PWD
OUT=$TOP/build/check/$(basename "$0" .sh)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/hcomm
rm -rf "$OUT"
mkdir -p "$OUT"
SUITES=
declare -A RAN=()
START=$SECONDS

say() { printf '[%4ds] %s\n' $((SECONDS - START)) "$*"; }

# suite NAME SECONDS COMMAND...: run it, show failures, keep everything
suite() {
	local name=$1 limit=$2 rc=0 t=$SECONDS
	shift 2
	say "$name ..."
	timeout --kill-after=20 "$limit" "$@" >"$OUT/$name.tap" 2>"$OUT/$name.err" \
		</dev/null || rc=$?
	[ $rc -ne 124 ] || echo "not ok - $name: no end after $limit s" >>"$OUT/$name.tap"
	RAN[$name]=$rc
	awk -v name="$name" -v rc=$rc -f selftests/tally.awk "$OUT/$name.tap" >"$OUT/$name.sum"
	read -r p f s <"$OUT/$name.sum"
	say "$name: $p passed, $f failed, $s skipped ($((SECONDS - t)) s)"
	grep -E '^[[:space:]]*ok .*# *SKIP' "$OUT/$name.tap" | sed 's/^ */    /' | head -20
	if [ "$f" -ne 0 ]; then
		# Each failed test with what it said before its verdict.
		awk '/^[ \t]*#/ { said = said $0 "\n"; next }
		     /^[ \t]*not ok/ { printf "%s%s\n", said, $0 }
		     { said = "" }' "$OUT/$name.tap" | sed 's/^ */    /' | head -60
		echo "    exit status $rc; last lines of $OUT/$name.tap and .err:"
		tail -n 25 "$OUT/$name.tap" | sed 's/^/    | /'
		tail -n 25 "$OUT/$name.err" | sed 's/^/    ! /'
	fi
}

# tally SUITE...: the sum over the suites that must have run; exits
tally() {
	local p=0 f=0 s=0 name a b c
	for name; do
		if [ -z "${RAN[$name]+x}" ]; then
			say "$name: DID NOT RUN"
			f=$((f + 1))
			continue
		fi
		read -r a b c <"$OUT/$name.sum"
		p=$((p + a)) f=$((f + b)) s=$((s + c))
	done
	for name in "${!RAN[@]}"; do
		case " $* " in
		*" $name "*) ;;
		*) say "$name: ran, but is not in the list of suites"; f=$((f + 1)) ;;
		esac
	done
	echo "$p $f $s" >"$OUT/total"
	echo "$p passed, $f failed, $s skipped"
	[ "$f" -eq 0 ] && [ "$p" -gt 0 ]
}
