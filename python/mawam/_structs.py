"""Every struct of include/mawam/*.h that the package uses.

Kinds are C's own, with two short ones: `text` is a const char pointer, `pointer` any other, functions included. A
struct that is part of another stands before it. `make declarations` writes the text from the headers;
tests/python/test_abi.py compares it with the headers and with what the C compiler makes of them.
"""

STRUCTS = """
mw_setting:
    text task quality
    int kind
    double low high least_wins
    float noise
    int transitions
mw_behavior_summary:
    char task[24] rules[64] quality[24] origin[256]
    float noise
    int count
    double steps[32]
mw_measure_options:
    size size
    pointer world
    uint64 seed
    int episodes threads
    double noise
mw_measure:
    int episodes
    double mean std least most win_rate length
mw_learn_preset:
    char task[24] teacher[16]
    int hidden critic_hidden relu ids envs horizon epochs batches shards
    float rate critic_rate gamma lambda clip entropy
    int adapt
    float imitate_rate kl log_std reward_scale steps imitate
    int snapshots
mw_learn_report:
    long iteration
    double steps
    int episodes
    double episode_return length win_rate entropy kl clipped value_loss action_std
    int passes
mw_learn_options:
    size size
    pointer preset world
    uint64 seed
    int threads
    bool resume
    float prolong
    pointer stop report context
mw_pick_options:
    size size
    pointer world
    int episodes every
    uint64 seed
    int threads
    pointer stop report context
mw_prey_options:
    size size
    int rounds
    float predator_steps prey_steps
    uint64 seed
    int threads
    text version
    pointer stop report context
mw_bench_options:
    size size
    text task
    bool paper
    int envs candidates steps horizon threads
    unsigned items
    double seconds
mw_bench_item:
    text name
    bool measured
    double ms gflops share
    size bytes
mw_bench_report:
    double peak peak_one
    int threads horizon
    size world_parameters policy_parameters
    char sizes[1024]
    mw_bench_item item[5]
mw_cost_options:
    size size
    int envs sampling_steps horizon repeats warm_up timed threads
    text command
    pointer progress context stop
mw_data_source:
    text name
    uint64 checksum
    long episodes
mw_dataset_spec:
    text task rules quality
    int agents obs_size act_size
    bool discrete
    int episode_limit
    uint64 seed
    text command note
    pointer sources
    int source_count
mw_return_stats:
    double mean std minimum quartile[3] maximum won
mw_dataset_summary:
    mw_dataset_spec spec
    text made_by
    long steps episodes
    mw_return_stats returns
    double bytes
    bool imported
mw_dataset_columns:
    pointer obs real index legal rewards last_obs outcomes lengths offsets
mw_rules_report:
    long compared agreed
    double worst_obs worst_reward
    long values outside
mw_episode:
    long length
    pointer obs last_obs real index legal rewards
    uint8 outcome
mw_make_options:
    size size
    text behaviors
    pointer world
    long transitions
    uint64 seed
    int threads
    bool overwrite
    text command
    pointer stop progress context
mw_make_result:
    long episodes steps
    double mean std least most win_rate
mw_import_options:
    size size
    pointer info
    text quality command
    int agents act_size episode_limit
    bool overwrite
    pointer stop
mw_import_report:
    long episodes steps dropped jumps
    bool padded all_legal changed
mw_export_options:
    size size
    bool overwrite
    pointer stop
mw_family:
    text name title measure format signed_format
    bool counts_wins
    int episodes study_episodes
mw_env_info:
    text task family rules summary
    int agents obs_size act_size
    bool discrete
    int episode_limit
mw_feature:
    char name[64]
    text unit
    double low high
mw_action:
    pointer real index
mw_outcome:
    bool terminated truncated won
    int step
mw_env_options:
    size size
    text prey_file
    double spawn_jitter
mw_shape:
    int kind
    text role
    int id
    float a[3] b[3] radius health shield
mw_env_batch_arrays:
    mw_action action
    pointer rewards outcomes obs legal last_obs seeds
    int ended
mw_error:
    status status
    char message[512]
mw_arm:
    text name help controller
    char settings[160]
    bool plans
mw_eval_options:
    size size
    unsigned arms
    uint64 first_seed
    int seeds episodes
    pointer assignments
    int assignment_count envs threads timed
    pointer world
    text behaviors
    pointer stop progress context
    bool accept_rules
mw_eval_episode:
    uint64 world
    double total
    int length
    bool won
mw_latency:
    double p50 p95
mw_interval:
    double mean low high
mw_eval_report:
    bool played
    pointer episodes
    double total total_std score score_std won won_std length
    mw_interval gain
    double relative_gain relative_low relative_high oracle_share
    mw_latency decision generation scoring
    double seconds
    long decisions
    double distinct
mw_plan_settings:
    int candidates horizon sampling_steps
    double guidance target quantile
    bool return_to_go
    char scorer[64]
    double advantage_share action_offset temperature
    bool warm_start
    int choice
    double caution return_error
    int value_after recombine
    bool distinct
mw_eval_summary:
    text task rules quality family accepted_rules packed_of
    unsigned arms
    uint64 first_seed
    int seeds episodes
    mw_plan_settings plan
mw_ranking:
    double pearson spearman top1 top2 pair_accuracy spearman_within pair_accuracy_within regret
    double normalized_regret
mw_same_state_options:
    size size
    int anchors
    bool planned
    pointer assignments
    int assignment_count
    uint64 seed
    int threads
    pointer world stop
    bool accept_rules
mw_judge:
    char scorer[64]
    mw_ranking ranking
    double chosen
    pointer predicted
mw_same_state:
    int anchors candidates horizon
    bool planned
    char rules[64]
    long episodes
    double random_regret random_normalized_regret best average
    bool exact
    pointer realized
    int judges
    pointer judge
mw_snippet_options:
    size size
    int count
    uint64 seed split_seed
    double held_out
    int threads
    pointer stop
mw_snippets:
    int count horizons
    mw_ranking ranking[16]
    double error[16]
    int aligned points
    double realized[120] predicted[120]
    text scorer
    bool held_out
mw_diagnosis:
    pointer bundle drawn planned snippets
mw_text:
    pointer stream bytes
    size size room
    bool failed
mw_bundle_summary:
    text task rules quality method
    int agents obs_size act_size
    bool discrete
    int episode_limit parts packed_bits
    text packed_of return_error_from
mw_bundle_part_summary:
    text name
    size parameters
    text provenance
mw_setting_info:
    text name symbol help
    char range[128]
mw_plan_call:
    int count horizon group agents obs_size act_size
    pointer envs obs legal keys actions
mw_planner_options:
    size size
    uint64 seed
    int envs threads
    bool imagine sequential
    pointer envs_played env_options
    double deadline
    pointer clock clock_context score score_context propose propose_context
    mw_plan_settings plan
mw_effort:
    int candidates sampling_steps
    bool scored
    double milliseconds
mw_candidates:
    int count horizon chosen
    pointer scores actions proposed imagined weights
mw_routing_options:
    size size
    int transitions consecutive anchors
    uint64 seed
    int threads
    pointer world stop
    bool accept_rules
mw_paired_summary:
    int settings positive negative
    mw_interval difference
    double sign_test
mw_routing_over:
    int settings
    mw_paired_summary nmi js
    double effective_experts switching
mw_study_event:
    int what
    text setting
    int index count stage
    text baseline
    double done seconds left
    text note
mw_study_options:
    size size
    text folder
    pointer settings
    int count
    bool resume drop_data
    text method
    int budget
    pointer assignments
    int assignment_count
    text behaviors
    uint64 seed
    int threads
    long transitions
    unsigned arms
    int seeds episodes timed anchors snippets
    text command
    pointer stop progress context
    unsigned parts
    uint64 first_seed
    pointer family_episodes
    int family_count training_seeds
    bool play_again
    unsigned baselines
    text task
mw_sweep_options:
    size size
    pointer sweeps
    int count
    pointer eval
    text path command
    pointer progress context
    bool overwrite
mw_training_progress:
    text part
    long step steps
    int losses
    pointer loss_names means held
    double seconds cost done total
mw_training_estimate:
    double bytes free_bytes operations seconds
mw_train_options:
    size size
    text method
    int budget
    pointer assignments
    int assignment_count
    unsigned only
    text with
    uint64 seed
    int threads
    bool resume wide
    text command
    pointer stop progress context world
    bool accept_rules force overwrite
    pointer begin
mw_part_report:
    text name
    bool trained
    int losses
    text loss_names[6]
    double held[6]
    long best_step
mw_training_report:
    bool complete finished_before
    double seconds target
    char remark[512]
    int count
    pointer part
mw_verify:
    pointer line context
    int checks failed
"""
