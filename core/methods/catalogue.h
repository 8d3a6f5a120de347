// This file lists every method, one line each, grouped by axis. Methods rewrite a layer in the
// order of the list methods().
#pragma once

#include <span>
#include <string_view>

#include "core/methods/method.h"

namespace trainyard {

// Schedules
Method gpipe();
Method one_f_one_b();
Method interleaved_1f1b();
Method zb_h1();
Method zb_h2();
Method zb_v();
Method v_half();
Method v_min();
Method dualpipe_v();
Method dualpipe();
Method chimera();
Method pipedream();
Method pipedream_2bw();
Method pipemare();
Method pipelined_backprop();
Method tick_tock();
// Precision
Method fp32();
Method tf32();
Method fp16();
Method bf16();
Method bf16_nearest();
Method bf16_sr();
Method bf16_kahan();
Method flex16();
Method fp8();
Method mxfp8();
Method nvfp4();
Method vs_quant();
// Trained parts
Method frozen_parts();
Method lora();
Method sparse();
Method tensor_train_tables();
// Sharding
Method tensor_parallel();
Method context_parallel();
Method spatial_partition();
Method expert_parallel();
Method batch_norm_statistics();
// Reduction
Method data_parallel_method();
Method zero();
Method gradient_accumulation();
Method adasum();
Method compression();
Method halp_method();
Method operator_stages();
Method optimizer_norms();
Method relaxed_synchrony();
// Memory
Method recompute();
Method offload();
Method tensor_formats_method();
// Data
Method packing();
Method batch_ramp();
Method evaluation();
Method input();
// Communication
Method overlap();

std::span<const Method> methods();
const Method* find_method(std::string_view name);
/// Throws Error{InvalidInput} with the nearest names.
const Method& method(std::string_view name);
/// Returns the plan's first choice on that axis; null when it has none.
const Choice* chosen_on(const Plan&, MethodAxis);
/// Returns the schedule of a complete plan.
const Method& schedule_of(const Plan&);

}  // namespace trainyard
