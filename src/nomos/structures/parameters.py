"""What a proof makes of the parameters of estimators: read, of no matter, or refused.

An estimator may answer by more than its trees or layers say. So each parameter that it
has must be known here; one that may change answers must have a harmless value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nomos.errors import NotProvable


class Parameters(NamedTuple):
    """The parameters of a library's estimators by what they mean for a proof."""

    read: str  # their effect is read from what was fitted, or refused there
    training: str  # decide what is fitted, and nothing of how it answers
    running: str  # where and how fast it calculates, and what it logs
    harmless: Mapping[str, tuple[Any, ...]]  # refused but for these values and None


KNOWN = {
    "xgboost": Parameters(
        "base_score booster early_stopping_rounds enable_categorical feature_types "
        "multi_strategy n_estimators num_class num_parallel_tree objective",
        "alpha colsample_bylevel colsample_bynode colsample_bytree eta eval_metric "
        "feature_weights gamma grow_policy huber_slope interaction_constraints lambda "
        "learning_rate max_bin max_cat_threshold max_cat_to_onehot max_delta_step "
        "max_depth max_leaves min_child_weight monotone_constraints quantile_alpha "
        "random_state refresh_leaf reg_alpha reg_lambda sampling_method "
        "scale_pos_weight seed subsample tree_method",
        "callbacks device importance_type n_jobs nthread validate_parameters verbosity",
        {"missing": (float("nan"),)},
    ),
    "lightgbm": Parameters(
        "boosting boosting_type categorical_feature early_stopping_round linear_tree "
        "n_estimators num_class num_iterations objective reg_sqrt use_missing "
        "zero_as_missing",
        "alpha auc_mu_weights bagging_by_query bagging_fraction bagging_freq bagging_seed "
        "bin_construct_sample_cnt boost_from_average cat_l2 cat_smooth "
        "cegb_penalty_feature_coupled cegb_penalty_feature_lazy cegb_penalty_split "
        "cegb_tradeoff class_weight colsample_bytree data_random_seed "
        "data_sample_strategy deterministic drop_rate drop_seed "
        "early_stopping_min_delta enable_bundle eval_at extra_seed extra_trees fair_c "
        "feature_contri feature_fraction feature_fraction_bynode feature_fraction_seed "
        "feature_pre_filter first_metric_only forcedbins_filename "
        "forcedsplits_filename interaction_constraints is_unbalance label_gain "
        "lambda_l1 lambda_l2 lambdarank_norm "
        "lambdarank_position_bias_regularization lambdarank_truncation_level "
        "learning_rate linear_lambda max_bin max_bin_by_feature max_cat_threshold "
        "max_cat_to_onehot max_delta_step max_depth max_drop metric "
        "min_child_samples min_child_weight min_data_in_bin min_data_in_leaf "
        "min_data_per_group min_gain_to_split min_split_gain min_sum_hessian_in_leaf "
        "monotone_constraints monotone_constraints_method monotone_penalty "
        "multi_error_top_k neg_bagging_fraction num_grad_quant_bins num_leaves "
        "objective_seed other_rate path_smooth poisson_max_delta_step "
        "pos_bagging_fraction quant_train_renew_leaf random_state refit_decay_rate "
        "reg_alpha reg_lambda scale_pos_weight seed sigmoid skip_drop "
        "stochastic_rounding subsample subsample_for_bin subsample_freq top_k top_rate "
        "tweedie_variance_power uniform_drop use_quantized_grad xgboost_dart_mode",
        "config convert_model convert_model_language data device_type force_col_wise "
        "force_row_wise gpu_device_id gpu_device_id_list gpu_platform_id gpu_use_dp "
        "group_column header "
        "histogram_pool_size ignore_column importance_type input_model "
        "is_enable_sparse is_provide_training_metric label_column local_listen_port "
        "machine_list_filename machines metric_freq n_jobs num_gpu num_machines "
        "num_threads output_model output_result parser_config_file "
        "precise_float_parser pre_partition predict_disable_shape_check "
        "saved_feature_importance_type save_binary snapshot_freq task time_out "
        "tree_learner two_round valid verbosity weight_column",
        {
            "num_iteration_predict": (-1,),
            "pred_early_stop": (False,),
            "pred_early_stop_freq": (),
            "pred_early_stop_margin": (),
            "predict_contrib": (False,),
            "predict_leaf_index": (False,),
            "predict_raw_score": (False,),
            "start_iteration_predict": (0,),
        },
    ),
    "catboost": Parameters(
        "cat_features class_names classes_count embedding_features grow_policy "
        "loss_function objective text_features",
        "allow_const_label approx_on_full_history auto_class_weights "
        "bagging_temperature best_model_min_trees boost_from_average boosting_type "
        "bootstrap_type border_count class_weights colsample_bylevel "
        "combinations_ctr counter_calc_method ctr_description ctr_history_unit "
        "ctr_leaf_count_limit ctr_target_border_count data_partition depth "
        "dev_efb_max_buckets dev_score_calc_obj_block_size dictionaries "
        "diffusion_temperature early_stopping_rounds eta eval_fraction eval_metric "
        "feature_border_type feature_calcers feature_weights "
        "final_ctr_computation_mode first_feature_use_penalties "
        "fixed_binary_splits fold_len_multiplier fold_permutation_block has_time "
        "ignored_features input_borders iterations l2_leaf_reg langevin "
        "leaf_estimation_backtracking leaf_estimation_iterations "
        "leaf_estimation_method learning_rate max_bin max_ctr_complexity max_depth "
        "max_leaves min_child_samples min_data_in_leaf model_shrink_mode "
        "model_shrink_rate model_size_reg monotone_constraints mvs_reg n_estimators "
        "nan_mode num_boost_round num_leaves num_trees od_pval od_type od_wait "
        "one_hot_max_size output_borders penalties_coefficient per_feature_ctr "
        "per_float_feature_quantization per_object_feature_penalties "
        "posterior_sampling random_score_type random_seed random_state "
        "random_strength reg_lambda rsm sampling_frequency sampling_unit "
        "scale_pos_weight score_function simple_ctr "
        "sparse_features_conflict_fraction store_all_simple_ctr subsample "
        "target_border text_processing tokenizers use_best_model",
        "allow_writing_files callback custom_loss custom_metric device_config devices "
        "gpu_cat_features_storage gpu_ram_part logging_level metadata metric_period "
        "name pinned_memory_size save_snapshot silent snapshot_file "
        "snapshot_interval task_type thread_count train_dir used_ram_limit verbose",
        {},
    ),
}


def check_parameters(fitted: Any) -> None:
    """Refuse parameters of a boosted estimator that are unknown, or change answers."""
    # A class of the user's own may come first.
    roots = [own.__module__.partition(".")[0] for own in type(fitted).__mro__]
    library = next((root for root in roots if root in KNOWN), None)
    if library is None:
        return
    known = KNOWN[library]
    names = {name for part in known[:3] for name in part.split()}
    for given, value in fitted.get_params().items():
        name = _official_name(library, given)
        if name in names or value is None:
            continue
        if name not in known.harmless:
            raise NotProvable(f"the parameter {given} of {library} is not known")
        harmless = known.harmless[name]
        if not any(value == one or (value != value and one != one) for one in harmless):
            raise NotProvable(
                f"the {library} model with {given}={value!r}: it may answer otherwise "
                "than its trees"
            )


def _official_name(library: str, name: str) -> str:
    """Return what a library calls a parameter; in LightGBM many have several names."""
    if library != "lightgbm":
        return name
    from lightgbm import basic

    own = {word for part in KNOWN[library][:3] for word in part.split()}
    aliases = basic._ConfigAliases.get_by_alias(name)
    found = sorted(aliases & (own | KNOWN[library].harmless.keys()))
    return found[0] if found else name
