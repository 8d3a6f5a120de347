// This file converts what a row measured to seconds of a step or bytes of a device.
#include <fmt/format.h>

#include "core/validation/rows/row_parts.h"

namespace trainyard {
namespace {

[[noreturn]] void skip(const std::string& reason) { throw Error(Error::Kind::Unsupported, reason); }

// Returns the seconds of a step in which a device processes that many tokens per second.
double step_of_tokens(const Scenario& s, double tokens_per_second_per_device) {
  const Batch& batch = s.plan.batch;
  return static_cast<double>(batch.global) * static_cast<double>(batch.sequence) /
         static_cast<double>(s.cluster.count) / tokens_per_second_per_device;
}

double step_of_flops(const MeasuredRow& row, const Scenario& s, double flops_per_second) {
  const auto definition = read_flops_definition(row.flops_def);
  if (!definition) skip("a rate of FLOPs whose definition is not stated");
  return step_of_tokens(
      s, flops_per_second / flops_per_token(*definition, flops_facts(s.model),
                                            static_cast<double>(s.plan.batch.sequence)));
}

double step_of_metric(const MeasuredRow& row, const Scenario& s) {
  const double global = static_cast<double>(s.plan.batch.global);
  const double devices = static_cast<double>(s.cluster.count);
  if (row.metric == "step_s") return row.value;
  if (row.metric == "tokens_s_gpu") return step_of_tokens(s, row.value);
  if (row.metric == "tokens_s") return step_of_tokens(s, row.value / devices);
  if (row.metric == "samples_s") return global / row.value;
  if (row.metric == "samples_s_gpu") return global / devices / row.value;
  if (row.metric == "tflops_gpu") return step_of_flops(row, s, row.value * 1e12);
  if (row.metric == "mfu")
    return step_of_flops(row, s, row.value / 100 * peak(s.cluster.device, DType::BF16).value);
  if (row.metric == "gpu_hours_per_1T_tokens") return step_of_tokens(s, 1e12 / (row.value * 3600));
  skip(fmt::format("a metric that is not predicted: {}", row.metric));
}

// PyTorch's counters and nvidia-smi divide by 2^30 whatever unit a table's head states: an "80 GB"
// device is full at 80 of these.
constexpr double kGigabyte = 1024.0 * 1024 * 1024;

}  // namespace

std::optional<FlopsDefinition> read_flops_definition(std::string_view sentence) {
  for (const FlopsDefinitionInfo& d : flops_definitions())
    if (sentence == d.name) return d.definition;
  using D = FlopsDefinition;
  struct Phrase {
    std::string_view phrase;
    FlopsDefinition definition;
  };
  // More specific phrases come first.
  constexpr Phrase kPhrases[] = {
      {"96*B*s*l*h^2", D::HardwareFull},
      {"8*N*tokens", D::HardwareParameters},
      {"72*B*s*l*h^2", D::ModelFullProducts},
      {"counted at HALF", D::ModelCausal},
      {"causal attention at half", D::ModelCausal},
      {"12*L*h*s, i.e. FULL", D::ModelFullProducts},
      {"12*L*h*s per token reproduces rows: FULL", D::ModelFullProducts},
      {"NeMo model TFLOP", D::ModelFullProducts},
      {"MaxText model TFLOP", D::ModelFullProducts},
      {"model TFLOP/s (MFU=tflops/989)", D::ModelFullProducts},
      {"6N+12", D::ModelFull},
      {"6N + 12", D::ModelFull},
      {"nanotron model FLOPs", D::ModelFullProducts},
  };
  for (const Phrase& p : kPhrases)
    if (mentions(sentence, p.phrase)) return p.definition;
  return {};
}

Measurement row_measurement(const MeasuredRow& row, const Scenario& s, std::vector<Assumption>&) {
  if (row.metric == "mem_gb") return {RowMetric::Memory, row.value * kGigabyte};
  if (row.metric == "mem_gb_total") return {RowMetric::MemoryTotal, row.value * kGigabyte};
  if (row.metric == "layer_fwd_bwd_ms") return {RowMetric::LayerTime, row.value / 1000};
  if (row.step_seconds) return {RowMetric::StepTime, *row.step_seconds};
  if (row.tokens_per_second_per_gpu)
    return {RowMetric::StepTime, step_of_tokens(s, *row.tokens_per_second_per_gpu)};
  return {RowMetric::StepTime, step_of_metric(row, s)};
}

}  // namespace trainyard
