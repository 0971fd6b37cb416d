# shellcheck shell=bash
# What the scripts that run checks share: parts, counting, and words for what cannot be checked.
#
# A script sources this, defines `part_NAME` for each of its parts, below a line of comment for
# `--help`, and ends with `run_parts "PART PART" "$@"`. Needs bash 4.4 or later (`tests/mutants` bash 5),
# coreutils, diffutils, findutils, awk, sed, grep, git and cargo, and nothing else; what is packed also
# needs tar and gzip.

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
    echo "this needs bash 4.4 or later, and is run by $BASH_VERSION, as macOS has it: install a newer one" >&2
    exit 1
fi

passed=0
failed=0
left_out=0
# The parts of which nothing was checked.
only_left_out=()
root=$PWD
log=$(mktemp)
# There once cargo has said that there is no network.
offline=$log.offline
trap 'rm -f "$log" "$offline"' EXIT
# What a machine does not have and a script may build or unpack.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel/tools
# Nothing here is built twice with a change in between, which is all that incremental builds serve.
export CARGO_INCREMENTAL=0
# Nor is anything looked at with a debugger; where a test failed is told without. It is a fifth of
# what building a test costs.
export CARGO_PROFILE_DEV_DEBUG=0
# Cargo takes a relative one from where it is run, which is not always here.
if [ -n "${CARGO_TARGET_DIR:-}" ]; then
    [[ $CARGO_TARGET_DIR == /* ]] || export CARGO_TARGET_DIR=$root/$CARGO_TARGET_DIR
fi
# Whether a toolchain is there is asked, and must not be answered by fetching it.
export RUSTUP_AUTO_INSTALL=0

# The test targets that need nothing but the core. Read by those who source this.
# shellcheck disable=SC2034
about_the_core='^(core|faults|laws)(_|$)'

# The adapters and the tests are always built together, even where one would do: cargo unites the
# features of what it is asked for, and another set of packages is another build of all of tokio.
house=(-p evenkeel-tests -p evenkeel-scripted)
house_folders=()
for manifest in adapters/*/Cargo.toml; do
    # One that belongs to another workspace is checked with the firmware.
    if grep -q '^workspace = "' "$manifest"; then continue; fi
    house_folders+=("${manifest%/Cargo.toml}/tests")
    house+=(-p "$(sed -n '/^name = /{s/.*"\(.*\)"/\1/p;q}' "$manifest")")
done

# Runs the parts named, or all of the first argument; prints the count last, and fails if anything
# did. When all run, those that `beside` names run at the same time as the others: they build into
# directories of their own, and much of what they do keeps one core busy at most.
run_parts() {
    local all=$1 part parts other
    shift
    parts=("$@")
    for part in "${parts[@]}"; do
        if [[ $part == -h || $part == --help ]]; then
            usage "$root/tests/${0##*/}"
            printf '\nThe parts, and what each needs beyond Rust:\n'
            list_parts "$root/tests/${0##*/}"
            exit
        fi
        # shellcheck disable=SC2086 # one word for each part
        if ! is_one_of "$part" $all; then
            echo "no part is called \"$part\"; there are: $all" >&2
            other=$(grep -lxF "part_$part() {" tests/run tests/deep) && echo "it is one of $other" >&2
            exit 2
        fi
    done
    need git cargo
    if [ $# -eq 0 ]; then
        read -ra parts <<<"$all"
        # shellcheck disable=SC2086 # one word for each part
        begin_beside ${beside:-}
    fi
    for part in "${parts[@]}"; do
        # shellcheck disable=SC2086 # one word for each part
        [ $# -eq 0 ] && is_one_of "$part" ${beside:-} && continue
        run_part "$part"
        tell_beside
    done
    wait
    tell_beside
    tell_broken
    [ $((passed + failed + left_out)) -gt 0 ] || report FAILED "nothing was checked, or said why not"
    [ ${#only_left_out[@]} -eq 0 ] ||
        echo "nothing was checked of: ${only_left_out[*]}; what they lack is in the lines \"skipped\""
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# Whether the first word is one of the others.
is_one_of() {
    local wanted=$1 word
    shift
    for word in "$@"; do
        if [ "$word" = "$wanted" ]; then return; fi
    done
    return 1
}

# What stands at the head of a script.
usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$1" | sed '/^shellcheck /d'
}

# The parts of a script, each with the line that stands above it.
list_parts() {
    awk '/^part_[a-z]+\(\) \{/ { gsub(/^part_|\(.*/, ""); printf "  %-12s %s\n", $0, words }
        { words = /^# / ? substr($0, 3) : "" }' "$1"
}

# Ends the script if one of the programs is not there.
need() {
    local program
    for program in "$@"; do
        if ! command -v "$program" >"$log"; then
            echo "this needs $program, which is not installed" >&2
            exit 1
        fi
    done
}

run_part() {
    local started=$SECONDS before=$((passed + failed)) skips=$left_out
    echo "== $1"
    "part_$1"
    note_left_out "$1" $((passed + failed - before)) $((left_out - skips))
    echo "   $((SECONDS - started)) s"
}

# Notes a part that counts so many checks, and so many that were left out, if there are only these.
note_left_out() {
    [ "$2" -gt 0 ] || [ "$3" -eq 0 ] || only_left_out+=("$1")
}

# Runs parts one after another in the background. What one prints is kept until `tell_beside`.
begin_beside() {
    [ $# -gt 0 ] || return
    told=$(mktemp -d)
    # A group of its own, so that it ends with this script however that ends.
    set -m
    run_beside "$@" &
    set +m
    # shellcheck disable=SC2064 # the number of now
    trap "kill -- -$! 2>/dev/null; rm -rf '$log' '$offline' '$told'" EXIT
}

run_beside() {
    local log=$told/log part passed failed left_out
    for part in "$@"; do
        passed=0 failed=0 left_out=0
        run_part "$part" >"$told/$part.out" 2>&1
        echo "$passed $failed $left_out" >"$told/$part.part"
        mv "$told/$part.part" "$told/$part.counts"
    done
}

# Prints and counts the parts that have ended in the background.
tell_beside() {
    local counts part good bad out
    for part in ${beside:-}; do
        counts=${told:-}/$part.counts
        [ -e "$counts" ] || continue
        cat "$told/$part.out"
        read -r good bad out <"$counts"
        passed=$((passed + good))
        failed=$((failed + bad))
        left_out=$((left_out + out))
        note_left_out "$part" $((good + bad)) "$out"
        mv "$counts" "$told/$part.told"
    done
}

# A part of the background that has not ended by the end is no success.
tell_broken() {
    local part
    [ -n "${told:-}" ] || return
    for part in ${beside:-}; do
        if [ -e "$told/$part.told" ]; then continue; fi
        if [ -e "$told/$part.out" ]; then cat "$told/$part.out"; fi
        report FAILED "$part did not end"
    done
}

# Runs a command as one check; fails with it, and shows what it printed.
check() {
    local title=$1
    shift
    if "$@" >"$log" 2>&1; then
        report ok "$title"
    else
        report FAILED "$title"
        tail -n 200 "$log" | tell_failure
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
    if "$@" 2>&1 | tee "$log" | awk '{ print "   " $0; fflush() }'; then
        report ok "$title"
    else
        report FAILED "$title"
        tell_failure </dev/null
        return 1
    fi
}

# Shows what a check that failed has printed, which is the input, and what helps if it failed for want
# of a network. Cargo says that at length and always alike, so it is shown once.
tell_failure() {
    local manifest
    if ! grep -qE 'error: (no matching package|failed to (download|get)) ' "$log"; then
        cat
        return
    fi
    [ -e "$offline" ] || cat
    touch "$offline"
    # Of the packages that cargo names the last is a member of what it was building.
    # shellcheck disable=SC2016 # the backticks are cargo's
    manifest=$(sed -nE 's/.* package `[^` ]+ [^` ]+ \((\/[^`]*)\)`.*/\1/p' "$log" | tail -n 1)
    manifest=$(cargo locate-project --workspace --message-format plain \
        --manifest-path "${manifest:-$PWD}/Cargo.toml" 2>/dev/null)
    # What was built from an archive lay elsewhere, and is gone.
    [[ $manifest == "$root"/* ]] || manifest=$root/Cargo.toml
    echo "   run \`cargo fetch --manifest-path ${manifest#"$root/"}\` once with a network"
}

# Runs `cargo test` and counts its tests; fails, and shows what it printed, if one fails.
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
        grep -v '^test result: ok\|^test .* ok$\|^running [0-9]* tests\?$\|^$' "$log" | tail -n 400 |
            tell_failure
        return 1
    fi
}

# The names of the test targets in folders.
test_targets() {
    local folder target
    for folder in "$@"; do
        for target in $(compgen -G "$folder/*.rs") $(compgen -G "$folder/*/main.rs"); do
            basename "${target%/main.rs}" .rs
        done
    done | sort
}

# Keeps what a long run measured for VERIFICATION.md, where RECORD is set: `keep PART WHAT=IS...`.
keep() {
    [ -z "${RECORD:-}" ] || "$root/tests/verification" --record "$@"
}

# How many tests passed, by what they printed.
passed_tests() {
    awk '/^test result: / { passed += $4 } END { print passed + 0 " tests pass" }' "$log"
}

report() {
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    printf '   %-7s %s\n' "$1" "$2"
}

# Names what was not checked, and why.
skipped() {
    left_out=$((left_out + 1))
    echo "skipped: $1 ($2)"
}

# Says what is about to be brought to this machine, and by what.
installing() {
    echo "   installing $1 ($2)"
}

# Builds the payments lab, the network that fails and what counts a call, always all: cargo unites the
# features of what it is asked for, and each alone would be another build of tokio and of all that
# stands on it.
optimised=(--profile testrelease -p evenkeel-tonic -p evenkeel-network -p evenkeel-benches)
build_optimised() {
    cargo build --locked --quiet "${optimised[@]}" --example payments_lab --bin network --bench cost
}

# Whether a component of the toolchain, such as `clippy`, is there or can be fetched.
have_component() {
    local component=$1 command=$2
    cargo "$command" --version >"$log" 2>&1 && return
    by_rustup "$component" "the component $component" component add "$component"
}

# Brings something by these words to rustup; if that cannot be, says what is not checked, and why.
by_rustup() {
    local unchecked=$1 what=$2
    shift 2
    if ! command -v rustup >"$log"; then
        skipped "$unchecked" "$what is not installed, and there is no rustup"
        return 1
    fi
    installing "$what" rustup
    rustup "$@" >"$log" 2>&1 && return
    skipped "$unchecked" "$what is not installed, and rustup cannot fetch it"
    return 1
}

# Whether a subcommand of cargo is there or can be built. Hardly optimised: building is most of what
# these cost.
have_cargo_tool() {
    local name=$1 version=$2
    PATH="$tools/bin:$PATH"
    cargo "$name" --version >"$log" 2>&1 && return
    installing "cargo-$name $version into $tools, which takes a minute or two" "cargo install"
    (cd / && CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
        cargo install --quiet --locked --root "$tools" "cargo-$name@$version") >"$log" 2>&1 && return
    skipped "cargo-$name" "not installed, and cargo cannot build it: $(tail -n 1 "$log")"
    return 1
}

# Whether the standard library for a target is there or can be fetched.
have_target() {
    local target=$1 libraries
    libraries=$(rustc --print target-libdir --target "$target" 2>"$log") || libraries=none
    compgen -G "$libraries/libcore-*.rlib" >"$log" && return
    by_rustup "$target" "the standard library for $target" target add "$target"
}
