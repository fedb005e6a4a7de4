# SPDX-License-Identifier: GPL-2.0-only
"""Power cuts and stress: what is chosen, and how guests' output is judged."""

import itertools
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import results
from swathe.base.errors import EnvironmentLacks, VmLost
from swathe.base.verdicts import Test, Verdict
from swathe.check import kcsan, powercuts, rounds, selftests, stressors
from swathe.cli import stress
from swathe.guest import environment, initramfs, kernel_log, sections, session, vm
from swathe.guest.clock import Clock
from swathe.kernel import arch, build

CUT = powercuts.Cut(1, 5, 4)
NAMES = (
    *("AnonPages", "Mapped", "Shmem", "PageTables", "SUnreclaim", "KernelStack", "Mlocked"),
    *("SwapTotal", "SwapFree", "nr_dying_descendants"),
)


def sample(when: str, **other: int) -> str:
    values = dict.fromkeys(NAMES, 1000) | other
    lines = "".join(f"{name} {value}\n" for name, value in values.items())
    return f"@ sample {when}\n{lines}\n? 0\n"


SAMPLES = sample("before") + sample("after")
DONE = (
    "@ sample before\nx 1\n? 0\n@ stress run\n"
    "stress-ng: metrc: [7] vm                 1200      3.00      2.90 \n? 0\n"
)


def test_complaints() -> None:
    console = (
        "[    1.000000] rcu: \tRCU lockdep checking is enabled.\n"
        "[    2.000000][   T12] BUG: Bad rss-counter state mm:1 type:MM_ANONPAGES val:15\n"
        "[    3.000000] WARNING: possible circular locking dependency detected\n"
        "[    4.000000] BUG: KASAN: slab-use-after-free in x\n"
        "[    5.000000] Memory failure: 0x1: recovery action for clean LRU page: Recovered\n"
        "[    6.000000] rcu: INFO: rcu_preempt self-detected stall on CPU\n"
        "[    7.000000] workqueue: work func worker_run enqueued on deprecated workqueue.\n"
        "[    8.000000] workqueue: work func other enqueued on deprecated workqueue.\n"
    )
    found = kernel_log.find(console)
    assert [line.split()[1] for line in found] == ["Bad", "possible", "KASAN:", "work"]
    tests = selftests.complaints(console)
    assert {test.verdict for test in tests} == {Verdict.FAILED}


def test_a_seed_chooses_the_cuts() -> None:
    assert powercuts.plan(7, 3) == powercuts.plan(7, 3)
    assert powercuts.plan(7, 3) != powercuts.plan(8, 3)
    assert all(powercuts.EARLIEST <= cut.at < powercuts.LATEST for cut in powercuts.plan(7, 50))


def test_the_line_at_which_the_power_goes() -> None:
    told = powercuts.Told(4)
    told("@ powercut\ne 10\ns 1 2 3\n")
    with pytest.raises(powercuts.PowerCut):
        told("f 1 9\ne 25\n")
    assert told.synced == ["s 1 2 3", "f 1 9"]
    assert told.evicted == 15


def test_on_a_slow_machine_the_power_goes_earlier() -> None:
    told = powercuts.Told(600, longest=0)
    told("@ powercut\n" + "e 10\n" * (powercuts.EARLIEST - 1))
    with pytest.raises(powercuts.PowerCut):
        told("e 25\n")
    assert len(told.lines) == powercuts.EARLIEST


@pytest.fixture
def cut(
    fake: Callable[[str, str], Path],
    qemu: Callable[[str], Path],
    kernel: build.BuiltKernel,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str, str, str], Test]:
    """A cut with shell scripts for both guests and for xfs_repair."""
    given: list[str] = []

    def make(job: initramfs.Job, _: build.BuiltKernel, home: Path) -> Path:
        given.append(job.texts.get(powercuts.LIST, ""))
        return home / "initramfs"

    monkeypatch.setattr(initramfs, "make", make)

    def run(write: str, check: str, repair: str) -> Test:
        second = f'grep -q written "$disk" && {{ {check}; exit; }}'
        qemu(f'{second}; echo written >>"$disk"; {write}')
        fake("xfs_repair", repair)
        machine = vm.Machine(kernel, timeout=60, wanted_clock=Clock.HOST)
        test = powercuts.cut_once(machine, Path("powercut"), CUT)
        assert given[1:] in ([], ["s 1 2 3\n"])
        return test

    return run


WRITE = r'printf "@ powercut\ne 1\ns 1 2 3\ne 2\ne 9\n" >"$out"; exec sleep 60'
GOOD = r'printf "@ powercut\n? 0\n" >"$out"; echo "exit 0" >"$verdict"'
BAD = r'printf "@ powercut\nwrong: page 7\n? 1\n" >"$out"; echo "exit 0" >"$verdict"'
NO_MOUNT = 'echo "setup /mnt: Structure needs cleaning" >"$verdict"'


def test_a_good_cut(cut: Callable[[str, str, str], Test]) -> None:
    test = cut(WRITE, GOOD, "true")
    assert (test.verdict, test.detail) == (Verdict.PASSED, "1 sync kept, 8 entries evicted")


@pytest.mark.parametrize(
    ("write", "check", "repair", "said"),
    [
        (WRITE, BAD, "true", "wrong: page 7"),
        (WRITE, NO_MOUNT, "true", "after the cut, .*Structure needs cleaning"),
        (WRITE, GOOD, "echo bad inode; exit 1", "xfs_repair -n: bad inode"),
        (WRITE, f'echo "BUG: Bad page" >"$console"; {GOOD}', "true", "BUG: Bad page"),
        (
            r'printf "@ powercut\ne 1\ne 1\ne 1\ne 1\n" >"$out"; exec sleep 60',
            GOOD,
            "true",
            "nothing was",
        ),
        (
            r'printf "@ powercut\n! msync: I/O error\n? 1\n" >"$out"; echo "exit 0" >"$verdict"',
            GOOD,
            "",
            "msync: I/O",
        ),
    ],
)
def test_a_bad_cut(
    cut: Callable[[str, str, str], Test], write: str, check: str, repair: str, said: str
) -> None:
    test = cut(write, check, repair)
    assert test.verdict is Verdict.FAILED
    assert re.search(said, test.detail)


def request(seed: int, kinds: tuple[str, ...] = rounds.KINDS) -> rounds.StressRequest:
    return rounds.StressRequest(build.KernelRequest(flavor="debug"), 1, seed, kinds, "")


def test_a_seed_chooses_the_steps() -> None:
    def first(seed: int) -> list[rounds.Step]:
        return list(itertools.islice(rounds.steps(request(seed)), 40))

    assert first(3) == first(3)
    assert first(3) != first(4)
    met = {(step.kind, step.cpus) for step in first(3)}
    assert met == set(itertools.product(rounds.KINDS, rounds.CPUS))


def test_only_one_kind() -> None:
    args = __main__.parser().parse_args(["stress", "--only", "memx", "--seed", "2"])
    chosen = stress.request_from(args)
    assert {s.kind for s in itertools.islice(rounds.steps(chosen), 9)} == {"memx"}


def test_named_tests_and_seconds() -> None:
    words = ["stress", "--only", "tests", "--tests", "tables", "--each", "7", "--variant", "up"]
    chosen = stress.request_from(__main__.parser().parse_args(words))
    assert next(rounds.steps(chosen)).names == ("tables",)
    assert (chosen.each, chosen.kernel.variant) == (7, "up")


def test_each_kind_of_stress_has_a_section_of_its_own() -> None:
    def section(*words: str) -> tuple[str, str]:
        args = __main__.parser().parse_args(["stress", "--seed", "2", "--minutes", "9", *words])
        chosen = stress.request_from(args)
        return chosen.section, chosen.title

    assert section() == ("stress", "`./swathe stress --minutes 9 --seed 2`")
    assert section("--only", "memx", "--variant", "light", "--each", "7") == (
        "stress-light-memx",
        "`./swathe stress --variant light --only memx --each 7 --minutes 9 --seed 2`",
    )
    assert section("--flavor", "kcsan")[0] == "stress-kcsan"


def test_races_are_failures_only_if_they_are_ours(
    monkeypatch: pytest.MonkeyPatch, kernel: build.BuiltKernel
) -> None:
    race = (
        "BUG: KCSAN: data-race in {0} / b\n\n"
        "read to 0x1 of 8 bytes by task 1 on cpu 0:\n {0}+0x1/0x2\n"
    )
    console = race.format("stock") + race.format("unmap_ours")
    heard = session.Transcript("@ kcsan\nsetup_watchpoints: 5\n? 0\n", console, vm.Exit(0))
    monkeypatch.setattr(kcsan, "own_names", lambda built: kcsan.Names(frozenset(["unmap_ours"])))
    monkeypatch.setattr(session, "run", lambda *args: heard)
    wanted = rounds.StressRequest(build.KernelRequest(flavor="kcsan"), 1, 1, ("tests",), "x=y")
    outcome = rounds.StepOutcome(rounds.Step("tests", 2, 1, ("memx",)))
    kit = rounds.StressKit(wanted, kernel, {"memx": Path("memx")})
    rounds.boot(kit, outcome.step, outcome)
    assert outcome.reports == ["KCSAN: data-race in unmap_ours / b"]
    assert (len(outcome.races), outcome.watched) == (2, {"setup_watchpoints": 5})
    assert rounds.words(wanted, rounds.Step("tests", 2, 1)) == f"{kcsan.BOOT} x=y"
    assert rounds.words(wanted, rounds.Step("memx", 2, 1)) == f"{kcsan.BOOT} {vm.TWO_NODES} x=y"


def problems(text: str, cpus: int = 1) -> list[str]:
    return stressors.judge(session.Transcript(text, "", vm.Exit(0)), cpus)


def test_a_stressor_may_end_by_a_page_that_it_poisoned() -> None:
    text = DONE.replace("2.90 \n? 0", "2.90 \n? 2") + SAMPLES
    said = "Sending SIGBUS to stress-ng-madvi:77 due to hardware memory corruption"
    assert stressors.judge(session.Transcript(text, said, vm.Exit(0)), 2) == []
    failed = "stress-ng: fail: [5] madvise: wrong\n"
    assert stressors.judge(session.Transcript(failed + text, said, vm.Exit(0)), 2)


def test_a_good_run() -> None:
    assert problems(DONE + SAMPLES) == []
    assert stressors.operations(DONE) == 1200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "did not end"),
        ("@ stress run\n", "did not end"),
        (DONE, "no samples of AnonPages"),
        (DONE.replace("2.90 \n? 0", "2.90 \n? 2") + SAMPLES, "status 2"),
        (DONE.replace("1200", "0") + SAMPLES, "the program did no operations"),
        (DONE + sample("before") + sample("after", Mapped=9000), "Mapped grew by 8000"),
        (DONE + sample("before") + sample("after", SwapTotal=5000), "SwapUsed grew by"),
        ("stress-ng: fail:  [9] vm: mismatch\n" + DONE + SAMPLES, "vm: mismatch"),
    ],
)
def test_a_bad_run(text: str, said: str) -> None:
    assert any(said in problem for problem in problems(text))


def test_each_cpu_may_keep_swap_slots() -> None:
    text = DONE + sample("before") + sample("after", SwapTotal=5000)
    assert problems(text, cpus=2)
    assert not problems(text, cpus=8)


def test_half_of_memx_drops_tables() -> None:
    commands = [stressors.memx(seed, 60, 2) for seed in range(6)]
    assert ["--drop" in command for command in commands] == [False] * 3 + [True] * 3
    assert [command[command.index("--rare") + 1] for command in commands] == ["1", "8", "64"] * 2
    assert {tuple(command[-2:]) for command in commands} == {("--minutes", "1.00")}


def test_memx_is_read_as_a_test() -> None:
    text = DONE.replace(
        "stress-ng: metrc:", "TAP version 13\n1..1\nnot ok 1 memx: 55 operations\n#"
    )
    assert stressors.operations(text) == 55
    assert any("memx" in problem for problem in problems(text + SAMPLES))


def test_harmless_ends() -> None:
    assert problems(DONE.replace("2.90 \n? 0", "2.90 \n? 4") + SAMPLES) == []


def test_the_script_is_shell(tmp_path: Path) -> None:
    text = stressors.script(stressors.stress_ng(["vm", "fork"], 9, 60), 9, flip=False)
    (tmp_path / "a.sh").write_text(sections.script([text]))
    subprocess.run(["sh", "-n", tmp_path / "a.sh"], check=True)
    assert "--timeout 4s" in text
    assert "--timeout 60s" in text
    assert "@COMMAND@" in stressors.SCRIPT
    assert "[ 0 = 0 ] ||" in text
    assert not re.search("@[A-Z]+@", text)


def test_the_switch_is_flipped_only_where_qemu_survives_that() -> None:
    old, new = "QEMU emulator version 7.2.22 (Debian)", "QEMU emulator version 10.0.2"
    assert not vm.patches_code_safely(old, 2)
    assert vm.patches_code_safely(old, 1)
    assert vm.patches_code_safely(new, 8)


def test_without_stress_ng(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentLacks, match="apt-get install stress-ng"):
        stressors.need_stress_ng()


def run_with(monkeypatch: pytest.MonkeyPatch, end: Callable[[rounds.StepOutcome], None]) -> int:
    def do(bench: rounds.StressKit, step: rounds.Step, outcome: rounds.StepOutcome) -> None:
        outcome.operations = 3
        end(outcome)

    built = build.BuiltKernel("6.12", Path("i"), Path("o"), Path("t"), "c", arch.X86_64)
    monkeypatch.setattr(build, "build", lambda request: built)
    monkeypatch.setattr(selftests, "compile_tests", lambda built: {})
    monkeypatch.setattr(environment, "look", lambda *args: ABOUT)
    monkeypatch.setattr(rounds, "do", do)
    return __main__.main(["stress", "--minutes", "0", "--seed", "1", "--only", "memx"])


@pytest.fixture(autouse=True)
def results_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path / "results")


ABOUT = environment.Environment("6.12", "c", "q", "g", 8, "4G", "x", "d", "s")


def newest() -> dict[str, list[dict[str, object]]]:
    path = max(results.HERE.glob("stress-*.json"), key=lambda path: path.stat().st_mtime_ns)
    found: dict[str, list[dict[str, object]]] = json.loads(path.read_text())
    return found


def test_results_are_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(monkeypatch, lambda outcome: None) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("seed 1\n")
    assert "| all |  | 0 | 3 | 0 | 0 | 0 |" in shown
    assert newest()["steps"][0]["operations"] == 3


def test_a_report_fails_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_with(monkeypatch, lambda outcome: outcome.reports.append("BUG: x")) == 1
    assert newest()["steps"][0]["reports"] == ["BUG: x"]


def test_a_lost_guest_is_in_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(outcome: rounds.StepOutcome) -> None:
        raise VmLost("the VM was lost")

    assert run_with(monkeypatch, end) == 4
    assert newest()["steps"][0]["problems"] == ["the VM was lost"]
