"""Settings of JAX under which a sweep computes or is refused."""

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, run_key, simulate, sweep
from jaxtheory.code import traces
from jaxtheory.engine.request import settings
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results import environment
from jaxtheory.engine.results.identity import identity


def test_dtypes_in_one_process():
    wide = simulate(THEORY, Config(), run_key(0, 0), steps=5, dtype="float64")
    narrow = simulate(THEORY, Config(), run_key(0, 0), steps=5, dtype="float32")
    assert wide.metrics["loss"].dtype == np.float64 and narrow.metrics["loss"].dtype == np.float32
    assert sweep(THEORY, Config(), steps=2, dtype="float32").loss.dtype == np.float32


def test_inside_a_transformation_one_line_says_so():
    def loss(eta):
        return sweep(THEORY, Config(learning_rate=eta), steps=3).loss.values[-1]

    def swept(eta):
        return jnp.asarray(sweep(THEORY, Config(), vary={"eta": [eta]}, steps=3).loss.values)

    def ran(eta):
        return simulate(THEORY, Config(learning_rate=eta), run_key(0, 0), steps=3).metrics["loss"][
            -1
        ]

    for function in (loss, swept, ran):
        for transformed, at in (
            (jax.jit(function), 0.1),
            (jax.grad(function), 0.1),
            (jax.vmap(function), jnp.array([0.1, 0.2])),
        ):
            with pytest.raises(
                InputError, match="cannot be called inside jit, vmap or grad"
            ) as error:
                transformed(at)
            assert "\n" not in str(error.value)


def test_debug_nans_makes_a_diverging_run_an_error_of_one_line():
    options = {"vary": {"eta": [0.1, 1e200]}, "steps": 30, "record": 10, "dtype": "float64"}
    with jax.debug_nans(True):
        assert np.isfinite(sweep(THEORY, Config(), steps=3, dtype="float64").loss).all()
        with pytest.raises(InputError, match="jax_debug_nans is on") as error:
            sweep(THEORY, Config(), **options)
    assert (
        "\n" not in str(error.value) and (sweep(THEORY, Config(), **options).diverged_at >= 0).any()
    )


def test_emitters_are_chosen_only_where_xla_has_others(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")
    for version, chosen in (((0, 11, 0), True), ((0, 11, 1), False)):
        monkeypatch.setattr(settings.jaxlib.version, "__version_info__", version)
        assert ("xla_cpu_use_fusion_emitters" in settings.compiler_options(level=2)) == chosen


# flags of JAX that change no bit of a result: they log, refuse, check, name, cache or place
WITHOUT_EFFECT = set(
    """
    check_vma jax2tf_associative_scan_reductions jax2tf_default_native_serialization
    jax_allow_f16_reductions jax_array_garbage_collection_guard
    jax_captured_constants_report_frames jax_captured_constants_warn_bytes
    jax_check_proxy_envs jax_check_static_indices jax_check_tracer_leaks
    jax_compilation_cache_check_contents jax_compilation_cache_dir
    jax_compilation_cache_expect_pgle jax_compilation_cache_include_metadata_in_key
    jax_compilation_cache_max_size jax_compiler_detailed_logging_min_ops
    jax_cpu_collectives_implementation jax_cpu_enable_async_dispatch
    jax_cpu_get_global_topology_timeout_minutes jax_cpu_get_local_topology_timeout_minutes
    jax_cross_host_transfer_socket_address jax_cross_host_transfer_timeout_seconds
    jax_cross_host_transfer_transfer_size jax_cross_host_transport_addresses
    jax_cuda_visible_devices jax_debug_key_reuse jax_debug_leaked_clients_on_clear_backends
    jax_debug_log_modules jax_disable_bwd_checks jax_disable_vmap_shmap_error
    jax_disallow_mesh_context_manager jax_distributed_debug jax_dump_ir_modes jax_dump_ir_to
    jax_enable_checks jax_enable_compilation_cache jax_enable_custom_prng
    jax_enable_preemption_service jax_enable_recoverability
    jax_error_checking_behavior_divide jax_error_checking_behavior_nan
    jax_error_checking_behavior_oob jax_experimental_unsafe_xla_runtime_errors
    jax_explain_cache_misses jax_export_calling_convention_version
    jax_export_ignore_forward_compatibility jax_force_dcn_cross_host_transfers
    jax_hlo_source_file_canonicalization_regex jax_include_debug_info_in_dumps
    jax_include_full_tracebacks_in_locations jax_legacy_prng_key jax_log_checkpoint_residuals
    jax_logging_level jax_mutable_array_checks jax_no_execution jax_no_tracing
    jax_num_cpu_devices jax_oneapi_visible_devices jax_pallas_enable_debug_checks
    jax_pallas_poison_buffers jax_pallas_verbose_errors jax_persistent_cache_enable_xla_caches
    jax_persistent_cache_min_compile_time_secs jax_persistent_cache_min_entry_size_bytes
    jax_pjrt_client_create_options jax_pprint_use_color jax_raise_persistent_cache_errors
    jax_remove_custom_partitioning_ptr_from_cache_key jax_remove_size_one_mesh_axis_from_type
    jax_rocm_visible_devices jax_send_traceback_to_runtime jax_serialization_version
    jax_share_binary_between_hosts jax_share_binary_between_hosts_timeout_ms
    jax_sort_devices_by_process_index jax_source_url_schema jax_thread_guard
    jax_traceback_filtering jax_traceback_in_locations_limit
    jax_tracer_error_num_traceback_frames
    """.split()
)
# the kind of device, which a store notes as `backend` and `target`
DEVICE = set(
    """
    jax_backend_target jax_default_device jax_mock_gpu_topology jax_platform_name jax_platforms
    jax_xla_backend mock_num_gpu_processes
    """.split()
)
IDENTITY = {"jax_enable_x64", "jax_threefry_partitionable"}  # dtype and draws of a request
PINNED = {  # flag -> another value than the one that `numerics` applies
    "jax_default_matmul_precision": "bfloat16",
    "jax_default_prng_impl": "rbg",
    "jax_softmax_custom_jvp": True,
    "jax_debug_nans": True,
    "jax_debug_infs": True,
    "jax_disable_jit": True,
    "jax_transfer_guard": "disallow",
    "jax_transfer_guard_device_to_device": "disallow",
    "jax_transfer_guard_device_to_host": "disallow",
    "jax_transfer_guard_host_to_device": "disallow",
}


def test_every_flag_of_jax_is_known_to_change_bits_or_not_to():
    groups = [WITHOUT_EFFECT, DEVICE, IDENTITY, {*PINNED}, {*settings._FLAGS}, {*environment.FLAGS}]
    flags = set(jax.config.values)
    assert flags - set().union(*groups) == set()  # a flag of a new JAX: put it into a group
    assert sum(map(len, groups)) == len(set().union(*groups))


@pytest.mark.parametrize("name", PINNED)
def test_flags_are_pinned(name):
    flags = {n: getattr(jax.config, n) for n in PINNED}
    with settings.numerics():
        pinned = {n: getattr(jax.config, n) for n in PINNED}
    jax.config.update(name, PINNED[name])
    try:
        with settings.numerics():
            assert {n: getattr(jax.config, n) for n in PINNED} == pinned
    finally:
        jax.config.update(name, flags[name])


def test_keys_depend_on_no_setting():
    want = sweep(THEORY, Config(), steps=2, seeds=2)
    key = jax.random.key_data(run_key(7, 2**32 - 1))
    jax.config.update("jax_random_seed_offset", 5)
    jax.config.update("jax_default_prng_impl", "rbg")
    try:
        assert np.array_equal(jax.random.key_data(run_key(7, 2**32 - 1)), key)
        assert sweep(THEORY, Config(), steps=2, seeds=2).identical(want)
    finally:
        jax.config.update("jax_random_seed_offset", 0)
        jax.config.update("jax_default_prng_impl", "threefry2x32")


def test_the_generator_of_a_key_counts():
    identities = {}
    for name in ("threefry2x32", "rbg", "unsafe_rbg"):
        key = jax.random.key(3, impl=name)
        request = read(THEORY, Config(), steps=1, key=key)
        identities[name] = identity(request)["key"]
    assert identities["threefry2x32"] == [0, 3]
    assert identities["rbg"][0] == "rbg" and identities["unsafe_rbg"][0] == "unsafe_rbg"
    assert identities["rbg"][1:] == identities["unsafe_rbg"][1:]


def test_another_thread_carries_the_settings():
    with jax.numpy_rank_promotion("warn"), traces.under("code"):
        probe = settings.carry_settings(
            lambda *more: (jax.config.jax_numpy_rank_promotion, traces.present(), *more)
        )
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(probe, 1).result() == ("warn", "code", 1)
