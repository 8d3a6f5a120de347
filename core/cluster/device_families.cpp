#include "core/cluster/device_families.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

constexpr const char* kA100 = "fitted on published runs (A100 rows), 2026-11";
constexpr const char* kH100 = "fitted on published runs (H100 rows), 2026-11";
constexpr const char* kBlackwell = "fitted on published runs (B200, GB200, B300 rows), 2026-11";
constexpr const char* kV5e = "fitted on published runs (TPU v5e rows), 2026-11";
constexpr const char* kCommon = "fitted on published runs (all rows together), 2026-11";
constexpr const char* kCore = "measured on one AVX-512 core, 2026-11";
constexpr const char* kAsFitted = "assumed: as fitted on published runs of other chips, 2026-11";

// The fitted product efficiencies are 0.95 (A100), 0.88 (H100) and 0.87 (B200) of the best matrix
// product that anyone published for the chip. Where only that product is known, 0.87 of it is
// taken.
Sourced<double> from_best_product(double best_tflops, double dense_peak_tflops) {
  return {0.87 * best_tflops / dense_peak_tflops,
          "0.87 of the best published product (stas00/ml-engineering, accelerator table, 744d01e)"};
}

// These fits apply to every chip.
void apply_common(Efficiency& e, const char* source) {
  e.memory = {0.74, source};
  e.network = {0.45, source};
  e.send = {0.98, source};
  e.all_to_all = {0.52, source};
  e.eight_bit = {0.94, source};
  e.tf32 = {0.87, source};
}

void nvidia(Efficiency& e, Sourced<double> product, Sourced<double> attention,
            Sourced<double> scale_up) {
  apply_common(e, kCommon);
  e.product = std::move(product);
  e.attention = std::move(attention);
  e.scale_up = std::move(scale_up);
}

// The figures are 360 of 450 GB/s on NVLink 4 and attention by cuDNN.
void hopper(Efficiency& e, Sourced<double> product) {
  nvidia(e, std::move(product), {0.37, kH100}, {0.80, kH100});
}

// The figure is 700 of 900 GB/s on NVLink 5.
void blackwell(Efficiency& e, double sustained_clock) {
  nvidia(e, {0.67 * sustained_clock, kBlackwell}, {0.42, kBlackwell}, {0.78, kBlackwell});
}

void instinct(Efficiency& e, Sourced<double> product) {
  apply_common(e, kAsFitted);
  e.product = std::move(product);
  e.scale_up = {0.70,
                "published all-reduce of 8 MI300X: 313 of 448 GB/s (stas00/ml-engineering, "
                "network, 744d01e)"};
}

void tensor_processor(Efficiency& e, Sourced<double> product, const char* source) {
  apply_common(e, kAsFitted);
  e.product = std::move(product);
  e.attention = {0.5, source};
  e.scale_up = {0.45, source};
}

void apply_efficiency(Family family, Efficiency& e) {
  switch (family) {
    case Family::Assumed:
    case Family::Processor:
      break;  // the defaults say "assumed"
    case Family::Volta:
      return nvidia(e, {0.56, "fitted on published runs (one V100 row), 2026-11"}, {0.3, "assumed"},
                    {0.87, "fitted on published runs (V100 rows), 2026-11"});
    case Family::Ampere:
      return nvidia(e, {0.83, kA100}, {0.56, kA100}, {0.77, kA100});
    case Family::AmperePcie:
      return nvidia(e, from_best_product(252.9, 312), {0.56, kAsFitted}, {0.77, kAsFitted});
    case Family::Hopper:
      return hopper(e, {0.70, kH100});
    case Family::HopperCapped:
      return hopper(e, {0.55,
                        "assumed: the H100 ceiling at the sustained clock of 0.79 fitted on 500 W "
                        "boards, 2026-11"});
    case Family::GraceHopper:
      return hopper(e, from_best_product(828.6, 989.4));
    case Family::Blackwell:
      return blackwell(e, 1.0);
    case Family::B200:
      return blackwell(e, 0.98);
    case Family::Gb200:
      return blackwell(e, 0.955);
    case Family::B300:
      return blackwell(e, 0.99);
    case Family::Gb300:
      return blackwell(e, 1.09);
    case Family::Mi300x:
      return instinct(e, from_best_product(668.4, 1307.4));
    case Family::Mi325x:
      return instinct(e, from_best_product(784.9, 1307.4));
    case Family::Mi355x:
      return instinct(e, from_best_product(1565, 2516.6));
    case Family::TpuV5e:
      return tensor_processor(e, {0.99, kV5e}, kV5e);
    case Family::Tpu:
      return tensor_processor(e, {0.8, "assumed"}, "assumed: as fitted on TPU v5e rows, 2026-11");
    case Family::Gaudi2:
      e.product = from_best_product(418.7, 432);
      break;
    case Family::Gaudi3:
      e.product = from_best_product(1243, 1835);
      break;
    case Family::LocalCore:
      // The product is measured: 211 of 262 GFLOP/s in square products of 1024. Bandwidths are
      // stated as copies reach them, so their efficiency is 1.
      e.product = {0.8, kCore};
      e.attention = {0.16,
                     "measured on one AVX-512 core, 2026-11: 28 GFLOP/s forward and 57 backward of "
                     "262, heads 32 wide"};
      e.memory = e.scale_up = e.network = e.send = e.all_to_all = {1.0, kCore};
      return;
  }
  apply_common(e, kAsFitted);
}

void apply_costs(Family family, Device& d) {
  constexpr const char* kAssumed = "assumed";
  if (family == Family::LocalCore) {
    d.launch = d.message_start = {2us, kCore};
    d.scale_up_latency = d.network_latency = {1us, kCore};
    d.context = {Bytes{0}, "an arena holds nothing before its first tensor"};
    return;
  }
  if (family == Family::Processor) {
    d.launch = {1us, "assumed: a task handed to a thread"};
    d.message_start = {20us, kAssumed};
    d.scale_up_latency = {1us, kAssumed};
    d.network_latency = {20us, kAssumed};
    d.context = {Bytes{0}, "a process has no context"};
    return;
  }
  d.context = {1536_MiB,
               "guessed: 1.0 to 2.1 GiB were left over when published peaks were fitted, 2026-11"};
  if (family == Family::Tpu || family == Family::TpuV5e) {
    d.launch = {1us, "assumed: one compiled program launches no kernels"};
    d.message_start = {10us, kAssumed};
    d.scale_up_latency = {1us, kAssumed};
    d.network_latency = {20us, kAssumed};
    return;
  }
  d.launch = {4us, kCommon};
  d.message_start = {37us, kCommon};
  d.scale_up_latency = {4us,
                        "fitted on published all-reduces of 2 to 8 A100 (vTrain traces), 2026-11"};
  d.network_latency = {
      8us, "fitted on published all-reduces of 32 ranks on 4 nodes (ml-engineering), 2026-11"};
}

}  // namespace

void apply_family(Family family, Device& device) {
  apply_efficiency(family, device.efficiency);
  apply_costs(family, device);
}

}  // namespace trainyard
