"""mawam: test-time planning with frozen multi-agent policies, over the shared library libmawam.

    import mawam
    mawam.make_dataset("spread-medium", "data")
    bundle = mawam.train(mawam.Dataset("data"), "spread.safetensors", quick=True).bundle()
    planner, env = mawam.Planner(bundle), mawam.Env("spread")
    obs, _ = env.reset(seed=1)
    actions = planner.act(obs)

Errors of the library are exceptions of this package (`mawam.Error`). Small arrays and lists are converted where no
value changes; arrays that show the library's memory are read-only. docs/python.md has the rest.
"""
from types import ModuleType as _Module

from mawam._library import (ArgumentError, Error, FileError, FormatError, InterruptedWork, MismatchError, NumericError,
                            OutOfMemoryError, UnsupportedError)
from mawam._version import __version__
from mawam.behavior import (Behavior, LearnReport, Measure, PickReport, Setting, behavior_path, describe_behavior,
                            learn_behavior, learn_preset, learn_prey, pick_behaviors, play_behavior, score, setting,
                            settings)
from mawam.data import (ENDED_BY_LIMIT, ENDED_BY_VICTORY, ENDED_BY_WORLD, DataReport, Dataset, Episode, Imported, Made,
                        ReturnStats, RulesReport, declare_rules, import_dataset, import_layouts, make_dataset)
from mawam.diagnosis import (Diagnosis, Judge, PairedSummary, Ranking, Routing, SameState, Snippets, diagnose,
                             paired_compare, routing_over_settings)
from mawam.env import (Env, EnvInfo, Family, Feature, Shape, WorldOptions, episode_seeds, families, family, family_of,
                       scripts, tasks)
from mawam.evaluation import Arm, ArmResult, Evaluation, arms, arms_of, evaluate, replay_page
from mawam.machine import (BenchItem, Check, Cpu, bench, cpu, data_folders, data_path, find_data, log_to_python,
                           status_name, verify)
from mawam.parallel import ParallelEnv, parallel_env
from mawam.picture import picture
from mawam.plan import Bundle, Candidates, Effort, Part, Planner, Routes, SettingInfo, pack_bundle, plan_settings
from mawam.plan import scorers
from mawam.progress import show_progress
from mawam.replay import Page, Replay
from mawam.study import StudyEvent, plan_study, report_study, run_study, study_parts, study_status
from mawam.sweep import CostProgress, Sweep, SweepProgress, planning_cost, sweep
from mawam.train import (Estimate, Progress, TrainedPart, Training, check_settings, methods, train, training_log,
                         training_settings)
from mawam.vector import VectorEnv
from mawam.writer import DatasetWriter, write_dataset

__all__ = [name for name, value in sorted(globals().items())
           if not name.startswith("_") and not isinstance(value, _Module)] + ["__version__"]
