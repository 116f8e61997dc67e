"""Which tests are slow: one table, so that it can be measured anew with ``pytest --durations=50``."""

from pathlib import Path

import pytest

SLOW_FILES = (
    "test_benchmarks.py",
    "test_calibration.py",
    "test_calibration_shared.py",
    "test_compiled.py",
    "test_demo.py",
    "test_evaluate_cli.py",
    "test_evaluate_methods.py",
    "test_evidence.py",
    "test_export_mp4.py",
    "test_frames.py",
    "test_machine.py",
    "test_places.py",
    "test_processes.py",
    "test_report_browser.py",
    "test_run.py",
    "test_run_verdict.py",
    "test_shoots.py",
    "test_synth.py",
    "test_synth_shoots.py",
    "test_synth_video.py",
    "test_views.py",
)
SLOW_TESTS = {
    "test_calibration_parts.py": ("test_a_length_in_the_picture_is_measured",),
    "test_calibration_solver.py": ("test_one_world_is_what_stands_still",),
    "test_check.py": (
        "test_all_of_it_is_json",
        "test_a_known_synchronisation_is_taken",
        "test_real_phones_that_stand_too_far_apart_are_refused",
        "test_the_clips_of_the_demo_are_worth_a_run",
        "test_the_command_says_why_a_run_would_not_be_trusted",
        "test_two_eyes_of_one_headset_are_too_near",
    ),
    "test_docs.py": (
        "test_the_commands_of_a_page_run",
        "test_the_python_of_a_page_runs",
        "test_the_site_is_built_without_a_warning_and_asks_nobody",
    ),
    "test_export_targets.py": ("test_a_full_disk_is_one_sentence_and_leaves_old_files",),
    "test_filling_cli.py": ("test_sintel_reaches_what_was_asked",),
    "test_matching_flow.py": ("test_a_striped_bar_moves_with_what_is_around_it",),
    "test_matching_inputs.py": (
        "test_all_kinds_of_pixels_give_the_same_flow",
        "test_every_ingredient_can_be_left_out_or_changed",
    ),
    "test_readme.py": (
        "test_commands_and_python_of_the_readme_run_in_order",
        "test_examples_run",
        "test_the_example_of_match_is_accepted",
    ),
    "test_storage.py": (
        "test_a_run_that_is_told_to_end_leaves_no_lock_and_no_process",
        "test_worker_processes_end_with_their_parent",
    ),
    "test_sync.py": ("test_handheld_clips_by_pictures_alone", "test_handheld_clips_by_sound"),
    "test_sync_trust.py": ("test_real_clips_that_cannot_be_synchronised_are_doubted",),
}

# files whose tests share something expensive, which each worker would make anew
TOGETHER = (
    "test_check.py",
    "test_depth.py",
    "test_evaluate_cli.py",
    "test_evidence.py",
    "test_frames.py",
    "test_run.py",
    "test_synth.py",
    "test_synth_video.py",
    "test_views.py",
)


def is_slow(file: Path, function: str) -> bool:
    """Whether a test takes more than a few seconds."""
    return file.name in SLOW_FILES or function in SLOW_TESTS.get(file.name, ())


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them."""
    for item in items:
        if item.path.name in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
        if is_slow(item.path, getattr(item, "originalname", item.name)):
            item.add_marker(pytest.mark.slow)
