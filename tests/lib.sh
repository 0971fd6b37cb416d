# shellcheck shell=bash
# What the scripts that run checks share: parts, counting, and words for what cannot be checked.
#
# A script sources this, defines `part_NAME` for each of its parts, and ends with
# `run_parts "PART PART" "$@"`. Needs bash, coreutils, awk, sed, grep and cargo, and nothing else.

passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Nothing here is built twice with a change in between, which is all that incremental builds serve.
export CARGO_INCREMENTAL=0

# Runs the parts named, or all of the first argument; prints the count last, and fails if anything
# did.
run_parts() {
    local all=$1 part started parts
    shift
    parts=("$@")
    [ $# -gt 0 ] || read -ra parts <<<"$all"
    for part in "${parts[@]}"; do
        if ! [[ " $all " == *" $part "* ]]; then
            echo "no part is called $part; there are: $all" >&2
            exit 2
        fi
    done
    for part in "${parts[@]}"; do
        echo "== $part"
        started=$SECONDS
        "part_$part"
        echo "   $((SECONDS - started)) s"
    done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# Runs a command as one check; fails with it, and shows what it printed.
check() {
    local title=$1
    shift
    if "$@" >"$log" 2>&1; then
        report ok "$title"
    else
        report FAILED "$title"
        tail -n 200 "$log"
        return 1
    fi
}

# Like `check`, for one whose output is what a person wants to see.
show() {
    if check "$@"; then sed 's/^/   /' "$log"; fi
}

# Like `check`, for one that says how far it is.
follow() {
    local title=$1
    shift
    if "$@" 2>&1 | sed 's/^/   /'; then
        report ok "$title"
    else
        report FAILED "$title"
        return 1
    fi
}

# Runs `cargo test` and counts its tests; shows what it printed if one fails.
tests() {
    local title=$1 status=0 counts good bad
    shift
    cargo test --locked --no-fail-fast --quiet "$@" >"$log" 2>&1 || status=$?
    # A test that takes its whole process down is in no count but that of the targets that failed.
    counts=$(awk '
        /^test result: / { good += $4; bad += $6 }
        /^test result: FAILED/ { told++ }
        /^error: [0-9]+ targets? failed/ { targets = $2 }
        END { print good + 0, bad + (targets > told ? targets - told : 0) }' "$log")
    read -r good bad <<<"$counts"
    # What does not compile is in none.
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    passed=$((passed + good))
    failed=$((failed + bad))
    if [ "$bad" -eq 0 ]; then
        echo "   ok      $title: $good tests"
    else
        echo "   FAILED  $title: $bad of $((good + bad)) tests"
        grep -v '^test result: ok\|^running [0-9]* tests\?$\|^$' "$log" | tail -n 400
    fi
}

report() {
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    printf '   %-7s %s\n' "$1" "$2"
}

# Names what was not checked, and why.
skipped() {
    echo "skipped: $1 ($2)"
}

# Whether a component of the toolchain, such as `clippy`, is there or can be fetched.
have_component() {
    local component=$1 command=$2
    cargo "$command" --version >"$log" 2>&1 && return
    rustup component add "$component" >"$log" 2>&1 && return
    skipped "$component" "not installed, and rustup cannot fetch it"
    return 1
}

# Whether the standard library for a target is there or can be fetched.
have_target() {
    local target=$1 libraries
    libraries=$(rustc --print target-libdir --target "$target" 2>"$log") || libraries=none
    compgen -G "$libraries/libcore-*.rlib" >"$log" && return
    rustup target add "$target" >"$log" 2>&1 && return
    skipped "$target" "not installed, and rustup cannot fetch it"
    return 1
}
