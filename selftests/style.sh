#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Static checks of the sources: checkpatch and kernel-doc for the module,
# licenses of all files, the sysfs documentation.  Prints TAP.

cd "$(dirname "$0")/.." || exit 1
src=$(tools/lab/kernel.sh source) || exit 1
out=build/style
mkdir -p $out
n=0

result() {	# result STATUS NAME [FILE WITH DETAILS]
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		[ -z "$3" ] || head -n 40 "$3" | sed 's/^/# /'
		echo "not ok $n - $2"
	fi
}

# Iterators use their arguments more than once; compat.h is there to ask for
# versions; platform_user.h is no kernel code.
check() {
	"$src/scripts/checkpatch.pl" --no-tree --strict --quiet --no-summary --terse \
		--show-types --ignore "MACRO_ARG_REUSE$1" -f "${@:2}" >>$out/checkpatch 2>&1
}
: >$out/checkpatch
rc=0
check "" $(git ls-files 'kmod/*.[ch]' 'uapi/*.h' |
	grep -vE 'kmod/(compat|trace|core/platform_user)\.h$|kmod/wait\.c$|^uapi') || rc=1
check ",LINUX_VERSION_CODE,CONSTANT_COMPARISON" kmod/compat.h || rc=1
# A waiter yields for a bounded time, and says why: ctx_yield().
check ",YIELD" kmod/wait.c || rc=1
# Trace events are laid out as in include/trace, user space has no BIT().
check ",PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE" kmod/trace.h || rc=1
check ",BIT_MACRO" uapi/linux/hcomm.h || rc=1
rm -f .checkpatch-camelcase*
result $rc "checkpatch --strict" $out/checkpatch

"$src/scripts/kernel-doc" -none -Wall $(git ls-files 'kmod/*.h' 'kmod/core/*.h' 'uapi/*.h') \
	>$out/kernel-doc 2>&1
! grep -qE 'warning|error' $out/kernel-doc
result $? "kernel-doc" $out/kernel-doc

git ls-files '*.c' '*.h' '*.sh' '*.py' '*.mk' '*.rst' Makefile '*/Kbuild*' Kbuild |
	xargs grep -L SPDX-License-Identifier >$out/spdx
[ ! -s $out/spdx ]
result $? "SPDX line in every file" $out/spdx

# Which license where.
{
	git ls-files 'kmod/*.[ch]' | xargs grep -L 'SPDX.*GPL-2.0-only'
	git ls-files 'uapi/*.h' | xargs grep -L 'SPDX.*GPL-2.0 WITH Linux-syscall-note'
	git ls-files 'lib/*.[ch]' | grep -v ^lib/include/ |
		xargs grep -L 'SPDX.*LGPL-2.1-or-later'
	git ls-files 'lib/include/*.h' | xargs grep -L 'SPDX.*MIT'
	git ls-files 'tools/*.[ch]' 'selftests/*.[ch]' | xargs grep -L 'SPDX.*GPL-2.0-only'
} >$out/license
[ ! -s $out/license ]
result $? "the right license in every directory" $out/license

# Brackets keep the pattern from finding itself.
git grep -nE '\b(TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b' -- '*.c' '*.h' '*.sh' '*.py' '*.rst' '*.md' \
	>$out/todo
[ ! -s $out/todo ]
result $? "nothing is left to do by its own words" $out/todo

perl "$src/scripts/get_abi.pl" validate --dir Documentation/ABI >$out/abi 2>&1 &&
	! grep -qi warning $out/abi
result $? "Documentation/ABI is well formed" $out/abi

# A call in a comment counts as a declaration: it names what users can call, too.
diff <(grep -hoE '\bhcomm[A-Za-z_0-9]+\(' lib/include/hcomm/*.h | tr -d '(' | sort -u) \
	<(grep -oE '\bhcomm[A-Za-z_0-9]+;' lib/libhcomm-user.map | tr -d ';' | sort -u) >$out/map
result $? "the library exports what its headers declare, and no more" $out/map

# Version checks live in one place.
git grep -lE 'LINUX_VERSION_CODE' -- kmod ':!kmod/compat.h' >$out/compat
[ ! -s $out/compat ]
result $? "kernel versions are asked for in compat.h only" $out/compat

# kmod/core knows no OS.
git grep -nE '^#include <' -- kmod/core ':!kmod/core/platform*.h' ':!kmod/core/reduce_simd.h' \
	>$out/core
[ ! -s $out/core ]
result $? "kmod/core includes no header of an OS" $out/core
echo "1..$n"
