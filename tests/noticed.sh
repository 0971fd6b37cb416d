# shellcheck shell=bash
# Which tests are asked whether they notice a change, and for how long.
#
# `tests/mutants` sources this, and says in `programs`, `homes` and `fast` by what and where each test
# target runs, and how it is told to stop at the first failure. A change is put to the tests that come
# by it, first to those of its own package, until one fails; a test that takes more than twenty seconds
# is not asked, nor are all of another package.
#
# shellcheck disable=SC2154 # what is sourced into `tests/mutants` has its variables

# Runs each test without any change, checks that it passes, and notes how long it takes and which
# changes it comes by.
run_each() {
    local target name began number=0
    declare -ga names=() target_of=() took=()
    rm -rf "$out/reached"
    mkdir "$out/reached"
    for target in "${!programs[@]}"; do
        while IFS= read -r name; do
            names[number]=$name
            target_of[number]=$target
            began=${EPOCHREALTIME/./}
            REACHED=$out/reached/$number passes none "$target" 60 "$name" ||
                { echo "without any change $target: $name fails already" >&2; cat "$out/log" >&2; return 1; }
            took[number]=$(((${EPOCHREALTIME/./} - began) / 1000))
            number=$((number + 1))
        done < <("${programs[$target]}" --list --format terse | sed -n 's/: test$//p')
    done
    declare -gA reaches=()
    while read -r number target; do reaches[$number]=$target; done < <(
        for name in "${!took[@]}"; do
            if [ -e "$out/reached/$name" ]; then echo "${took[name]} $name"; fi
        done | sort -n | awk -v reached="$out/reached/" '
            { while ((getline change < (reached $2)) > 0) by[change] = by[change] " " $2; close(reached $2) }
            END { for (change in by) print change, by[change] }'
    )
}

# Whether tests of a target let a change pass. A change may also make it run for ever, or wait: they
# have so many seconds of a processor.
passes() {
    local change=$1 target=$2 seconds=$3 program watcher status=0
    shift 3
    (
        ulimit -t "$seconds" -v 8000000
        cd "${homes[$target]}" || exit
        export MUTANT=$change PROPTEST_MAX_SHRINK_ITERS=0 RUSTC_BOOTSTRAP=1
        # shellcheck disable=SC2086 # several words, or none
        exec "${programs[$target]}" --quiet ${fast[$target]} --exact "$@"
    ) >"$out/log" 2>&1 </dev/null &
    program=$!
    end_late $program $((20 * seconds)) &
    watcher=$!
    { wait $program; } 2>/dev/null || status=$?
    kill $watcher 2>/dev/null || true
    { wait $watcher; } 2>/dev/null || true
    return $status
}

# Ends a process when for three seconds none of its threads had anything to do, for no test waits that
# long for anything but what never comes; or when it is late even for a machine that is busy.
end_late() {
    local before="" now idle=0 began=$SECONDS
    while sleep 0.5; do
        # A thread that has just ended has no file any more.
        now=$({ cat "/proc/$1/task/"*/stat 2>/dev/null || true; } |
            awk '{ sub(/.*\) /, "") } $1 != "S" { busy = 1 } { time += $12 + $13 } END { print busy ? "" : time }')
        if [ -n "$now" ] && [ "$now" = "$before" ]; then idle=$((idle + 1)); else idle=0; fi
        before=$now
        if [ $idle -ge 6 ] || [ $((SECONDS - began)) -gt "$2" ]; then
            kill -KILL "$1" 2>/dev/null || return 0
        fi
    done
}

# The target that notices a change: first the tests of its own package are asked, and then of each
# other target those that are quickest; slow ones one by one, and of other packages only a few.
who_notices() {
    local change=$1 own=${2%%/src/*} number target
    local -a ours=() others=() slow=() slow_others=()
    local -A quick=()
    own=${own##*/}
    for number in ${reaches[$change]:-}; do
        target=${target_of[number]}
        [ "${took[number]}" -le 20000 ] || continue
        if [ "${took[number]}" -le 1000 ]; then
            if [ -n "${quick[$target]:-}" ]; then
                :
            elif is_own "$target"; then
                ours+=("$target")
            else
                others+=("$target")
            fi
            quick[$target]+=" $number"
        elif is_own "$target"; then
            slow+=("$number")
        else
            slow_others+=("$number")
        fi
    done
    # Most are noticed by one of the first, and nothing is quicker than these.
    quick_ones 0 8 "${ours[@]}" || quick_ones 8 1000 "${ours[@]}" || one_by_one "${slow[@]}" ||
        quick_ones 0 8 "${others[@]}" || quick_ones 8 24 "${others[@]}" ||
        one_by_one "${slow_others[@]:0:4}" || true
}

# Asks of each of these targets the quick tests behind the first `from`, so many at most.
quick_ones() {
    local from=$1 most=$2 target asked
    shift 2
    for target in "$@"; do
        read -ra asked <<<"${quick[$target]}"
        if [ ${#asked[@]} -gt "$from" ] && notice "$change" "${asked[@]:from:most}"; then return; fi
    done
    return 1
}

one_by_one() {
    local number
    for number in "$@"; do
        if notice "$change" "$number"; then return; fi
    done
    return 1
}

# Whether a target is about the package of the change. Nothing but the core's own laws knows the core,
# and most of what knows the gRPC adapter looks at it from outside, in `tests`.
is_own() {
    [ "$own" = core ] || [[ "$1" == "$own:"* ]] || [[ "$own:$1" == tonic:tests:* ]]
}

# Asks tests of one target, and prints its name if one of them fails.
notice() {
    local change=$1 target=${target_of[$2]} number time=0 asked=()
    shift
    for number in "$@"; do
        asked+=("${names[number]}")
        time=$((time + took[number]))
    done
    if passes "$change" "$target" $((3 + 2 * time / 1000)) "${asked[@]}"; then return 1; fi
    echo "$target"
}
