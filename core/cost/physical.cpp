#include "core/cost/physical.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/base/saturating.h"
#include "core/cluster/local_device.h"
#include "core/cost/links_left_out.h"
#include "core/cost/local_core.h"
#include "core/cost/physical_links.h"
#include "core/cost/sparse_product.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

using P = Parameter;

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// KernelFacts are what a cost model needs to know from a kernel's name.
struct KernelFacts {
  bool backward = false, grouped = false, unfused = false, routing = false;
  bool plain = false, of_weights = false;  // a product with a weight; of those, its gradient
};

std::vector<KernelFacts> kernel_facts() {
  std::vector<KernelFacts> facts;
  for (const Op* op : ops())
    for (const Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight}) {
      const auto kernel = static_cast<std::size_t>(kernel_of(*op, pass));
      if (kernel >= facts.size()) facts.resize(kernel + 1);
      facts[kernel] = {pass != Pass::Forward, op == &routed_matmul(),
                       op == &attention(),    op == &dispatch() || op == &combine(),
                       op == &matmul(),       pass == Pass::BackwardWeight};
    }
  return facts;
}

const KernelFacts& facts_of(const Work& work) {
  static const std::vector<KernelFacts> facts = kernel_facts();
  static const KernelFacts none;
  return work.kernel >= 0 && static_cast<std::size_t>(work.kernel) < facts.size()
             ? facts[static_cast<std::size_t>(work.kernel)]
             : none;
}

// Libraries have fast products of 16-bit formats only for rows that begin at multiples of 16 bytes.
// A width that is no multiple of 8 takes a slower kernel, an odd one the slowest. The rates
// relative to the fast kernel were measured on an H100 (assets/validation/kernels-h100.csv),
// forward and backward together.
double alignment_share(const Work& work, const KernelFacts& facts) {
  if (!facts.plain || (work.math != DType::BF16 && work.math != DType::F16)) return 1;
  // The number of tokens is no width: it is the inner length of a weight's gradient, else the rows.
  const std::int64_t widths = work.n | (facts.of_weights ? work.m : work.k);
  return widths % 8 == 0 ? 1 : widths % 2 == 0 ? 1.0 / 3 : 1.0 / 6;
}

bool is_h20(const Device& device) { return device.id == "h20"; }

// A board whose units multiply slower than the chip could is done sooner with filling a tile, which
// takes its fixed time, than with the tile. Returns its rate per unit over that of the whole chip.
double unit_pace(Generation g, const Device& device, double dense) {
  constexpr double kHopper = 989.4e12 / 132;  // H100 SXM5, dense 16 bit
  return g == Generation::Hopper && device.units > 0 ? dense / device.units / kHopper : 1;
}

double product_share(Generation g, const Device& device, const Parameters& p) {
  const double capped =
      begins(device.id, "h100") && device.power.value.value > 0 && device.power.value.value <= 500
          ? p[P::ClockH100Capped]
          : 1;
  const double board = begins(device.id, "gb200")   ? p[P::ClockGb200]
                       : begins(device.id, "gb300") ? p[P::ClockGb300]
                                                    : 1;
  switch (g) {
    case Generation::Volta:
      return p[P::ProductVolta];
    case Generation::Ampere:
      return p[P::ProductAmpere];
    case Generation::Hopper:
      return p[P::ProductHopper] * capped * (is_h20(device) ? p[P::ClockH20] : 1);
    case Generation::Blackwell:
      return p[P::ProductBlackwell] * board;
    case Generation::Tpu:
      return p[P::ProductTpu] * (begins(device.id, "tpu-v6e") ? p[P::ClockTpuV6e] : 1);
    case Generation::Other:
      break;
  }
  return device.efficiency.product.value;
}

double attention_share(Generation g, AttentionKernel kernel, const Device& device,
                       const Parameters& p) {
  switch (g) {
    case Generation::Volta:
    case Generation::Ampere:
      return p[kernel == AttentionKernel::Triton ? P::FlashTritonAmpere : P::Flash2Ampere];
    case Generation::Hopper:
      return p[kernel == AttentionKernel::Triton   ? P::FlashTritonHopper
               : kernel == AttentionKernel::Flash2 ? P::Flash2Hopper
                                                   : P::CudnnHopper];
    case Generation::Blackwell:
      return p[P::CudnnBlackwell];
    case Generation::Tpu:
      return p[P::FlashTpu];
    case Generation::Other:
      break;
  }
  return device.efficiency.attention.value;
}

// Beside products, fused attention has exponentials, for which H20's units are as fast as H100's.
double h20_attention_share(double of_h100, double pace, const Parameters& p) {
  const double product = p[P::ProductHopper];
  const double beside = std::max(0.0, 1 / of_h100 - 1 / product) * pace;
  return 1 / (1 / (product * p[P::ClockH20]) + beside);
}

// Rates are everything about a device that enters its kernels' times; in seconds, FLOP/s and
// bytes/s.
struct Rates {
  std::array<double, 16> product{};  // by DType; 0 = the device has no such peak
  std::array<double, 16> pace{};     // by DType: its peak over that of 16 bit
  double attention = 0, memory = 0, chain = 1, softmax = 1, gap = 0, host_op = 0;
  bool has_host = false;  // that issues the kernels
  int units = 0;
  bool on_chip = false;  // products have no tiles
  bool local = false;    // a core of this machine, which has no tiles, waves or framework kernels
  bool as_written = false;  // products have the widths of the model: Megatron pads its vocabulary,
                            // and a compiler pads them all

  double aligned(const Work& work, const KernelFacts& facts) const {
    return as_written ? alignment_share(work, facts) : 1;
  }
};

double format_share(DType type, const Parameters& p) {
  switch (type) {
    case DType::TF32:
      return p[P::Tf32];
    case DType::F8:
    case DType::I8:
      return p[P::EightBitTensor];
    case DType::F8Block:
      return p[P::EightBitBlock];
    case DType::F8Row:
      return p[P::EightBitRow];
    case DType::F4:
      return p[P::FourBit];
    default:
      return 1;
  }
}

Rates rates_of(const Device& device, const SettledSoftware& software, const Parameters& p) {
  const Generation g = generation(device);
  Rates r;
  const double share = product_share(g, device, p);
  const DType half = supports(device, DType::BF16) ? DType::BF16 : DType::F16;
  const double dense =
      supports(device, half) ? peak(device, half).value : peak(device, DType::F32).value;
  for (std::size_t t = 0; t < r.product.size(); ++t) {
    const auto type = static_cast<DType>(t);
    if (!supports(device, type)) continue;
    r.product[t] = peak(device, type).value * share * format_share(type, p);
    r.pace[t] = peak(device, type).value / dense * unit_pace(g, device, dense);
  }
  const double attention = attention_share(g, software.attention, device, p);
  r.attention =
      dense *
      (is_h20(device) ? h20_attention_share(attention, unit_pace(g, device, dense), p) : attention);
  r.memory = tensor_bandwidth(device).value *
             (g == Generation::Other ? device.efficiency.memory.value : p[P::MemoryRate]);
  const std::array chains{p[P::ChainEager], p[P::ChainCompiled], p[P::ChainFused]};
  r.chain = g == Generation::Other ? 1 : chains[static_cast<std::size_t>(software.kernels)];
  r.softmax = software.framework->fused_softmax ? 1 : p[P::SoftmaxEager];
  r.gap = g == Generation::Other ? to_seconds(device.launch.value) : p[P::KernelGap] * 1e-6;
  // A compiler issues whole programs, and processors have no host to wait for.
  const bool has_host = g != Generation::Other && g != Generation::Tpu;
  r.has_host = has_host;
  r.host_op = has_host && !software.graphs ? p[P::HostOp] * 1e-6 : 0;
  r.units = device.units;
  r.as_written = has_host && software.kernels == KernelClass::Eager;
  r.on_chip = device.on_chip_memory;
  r.local = is_local_core(device);
  return r;
}

// No fused attention was written for 4-byte formats on matrix units; the memory-efficient kernel
// that runs instead has this rate relative to that of 16 bit. An H100 was measured at 1 / 6.9
// forward and 1 / 5.5 with backward (assets/validation/kernels-h100.csv).
constexpr double kWideAttention = 1.0 / 6;

class Physical final : public CostModel {
  // The links of the model's own device are looked up once; those of another device, as when going
  // through a catalogue, are looked up each time.
  template <class Use>
  auto with_links(const Device& device, const Use& use) const {
    return device.id == device_ ? use(links_) : use(link_terms(device, p_));
  }
  template <class Use>
  auto with_rates(const Device& device, const Use& use) const {
    return device.id == device_ ? use(rates_) : use(rates_of(device, software_, p_));
  }

 public:
  Physical(const SettledSoftware& software, const Parameters& p, const Device* device)
      : software_(software),
        p_(p),
        age_(std::exp(-p_[P::RoutedRelease] * software_.years)),
        host_age_(std::exp(-p_[P::HostRelease] * software_.years)) {
    if (device == nullptr) return;
    device_ = device->id, rates_ = rates_of(*device, software_, p_);
    links_ = link_terms(*device, p_);
  }

  std::string_view name() const override { return "physical"; }

  std::vector<std::string> leaves_out() const override {
    return {
        "cache reuse between kernels, fusion that the graph does not show",
        std::string(kLeafOfNodeLeftOut),
        "software releases: published steps of one configuration differ by 6 % between releases "
        "(median of 22), and by up to 53 %",
        std::string(kUnevenMeshLeftOut)};
  }

  Duration compute(const Work& work, const Device& device) const override {
    if (nothing(work)) return Duration{0};
    return with_rates(device,
                      [&](const Rates& rates) { return seconds(kernel(work, rates, device)); });
  }

  Duration phase(std::span<const WorkCount> works, std::span<const Duration> kernels, bool update,
                 const Cluster& cluster) const override {
    return phase(load(works, kernels, cluster), update, cluster);
  }

  PhaseLoad load(std::span<const WorkCount> works, std::span<const Duration> kernels,
                 const Cluster& cluster) const override {
    const auto [host_op, has_host] = with_rates(cluster.device, [](const Rates& rates) {
      return std::pair(rates.host_op, rates.has_host);
    });
    PhaseLoad sum;
    for (std::size_t i = 0; i < works.size(); ++i) {
      const WorkCount& w = works[i];
      if (nothing(w.work)) continue;
      sum.device += to_seconds(kernels[i]) * w.count;
      if (w.work.kernel < 0) continue;  // issued with another
      sum.host += (host_op + (has_host && facts_of(w.work).routing ? host_routed() : 0)) * w.count;
    }
    return sum;
  }

  Duration phase(const PhaseLoad& sum, bool update, const Cluster& cluster) const override {
    if (!(sum.device > 0)) return Duration{0};
    if (update) {
      const bool has_host =
          with_rates(cluster.device, [](const Rates& rates) { return rates.has_host; });
      return seconds(sum.device + (has_host ? p_[P::StepStart] * 1e-3 : 0));
    }
    const auto nodes_beyond = static_cast<double>(nodes(cluster));
    const double slowest = 1 + p_[P::Straggler] * std::log2(std::max(1.0, nodes_beyond));
    return seconds(issued(sum.device, sum.host) * slowest);
  }

  Duration exposed(const PhaseLoad& sum) const override {
    return seconds(issued(sum.device + sum.exposed, sum.host) - issued(sum.device, sum.host));
  }

  Duration transfer(Bytes bytes, const Cluster& cluster, std::size_t level) const override {
    return with_links(cluster.device, [&](const LinkTerms& links) {
      return physical_transfer(bytes, cluster, level, links);
    });
  }
  CollectiveTime collective(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                            const Cluster& cluster) const override {
    CollectiveTime found = with_links(cluster.device, [&](const LinkTerms& links) {
      return physical_collective(kind, bytes, shape, cluster, links);
    });
    if (kind == CollectiveKind::AllToAll) found.time = seconds(to_seconds(found.time) * age_);
    return found;
  }

  ProcessMemory process_memory(const Device& device) const override {
    return framework_process(software_, device, p_);
  }

  double contention(const Device& device) const override {
    return generation(device) == Generation::Other ? 0 : p_[P::Contention];
  }

  double band() const override { return 0.24; }
  std::string_view band_basis() const override {
    return "90 % of 702 published step times lie within 24 % of such forms, their source left out";
  }

 private:
  // Returns the time of a device that is busy for `device` with kernels that the host takes `host`
  // to issue: a little more than the longer of the two.
  static double issued(double device, double host) {
    const double device2 = device * device, host2 = host * host;
    return std::sqrt(std::sqrt(device2 * device2 + host2 * host2));
  }

  // Where every copy of a token is kept, the host reads how many each expert has before it can
  // issue what follows: of a layer's four parts at dispatch and at combine, forward and backward,
  // each has a quarter.
  double host_routed() const {
    return software_.counts_on_host ? p_[P::HostRouted] * 0.25e-6 * host_age_ : 0;
  }

  // Grouped products of narrow experts, or of few tokens each, are slower than one dense product of
  // their size.
  double grouped_share(const Work& work) const {
    const auto side = static_cast<double>(std::min({work.m, work.n, work.k}));
    return side / (side + p_[P::GroupedProduct]);
  }

  double traffic(const Work& work, const Rates& r) const {
    return (static_cast<double>(work.read.value) + static_cast<double>(work.written.value)) /
           r.memory;
  }

  double product(const Work& work, const Rates& r, const Device& device) const {
    const double rate = r.product[static_cast<std::size_t>(work.math)];
    if (!(rate > 0)) peak(device, work.math);  // throws, naming the formats that there are
    // Filling and draining a tile takes a fixed time, in which a faster format would do more work.
    const double inner = p_[P::InnerLength] * r.pace[static_cast<std::size_t>(work.math)];
    if (r.on_chip) return work.flops.value / rate;
    double shape = 1;
    if (r.units > 0)
      shape = tile_time(work.m, work.n, work.k, work.count, r.units,
                        {inner, p_[P::WaveExponent], p_[P::SmallTile]});
    else if (work.k > 0)
      shape = 1 + inner / static_cast<double>(work.k);
    return work.flops.value / rate * shape;
  }

  // A sparse product fills no tiles.
  double sparse(const Work& work, const Rates& r, const Device& device) const {
    const double rate = r.product[static_cast<std::size_t>(work.math)];
    if (!(rate > 0)) peak(device, work.math);
    return work.flops.value / (rate * kSparseShare);
  }

  // This covers the products of scores and the chain between them: mask, softmax, dropout.
  double unfused(const Work& work, const Rates& r, const Device& device, bool backward) const {
    const double rate = r.product[static_cast<std::size_t>(work.math)];
    if (!(rate > 0)) peak(device, work.math);
    const double aligned = work.k % 8 == 0 ? 1 : p_[P::UnalignedHead];
    const double products = work.flops.value / (rate * p_[P::UnfusedProduct] * aligned);
    const double scores = static_cast<double>(work.m) * static_cast<double>(work.n) *
                          static_cast<double>(work.count) / (backward ? 4 : 2);
    constexpr double kBytes = 6;  // bytes per score for the kernel that fuses mask and softmax
    return products + scores * kBytes * r.softmax * (backward ? 1.3 : 1) / r.memory;
  }

  double fused(const Work& work, const Rates& r, bool backward) const {
    const double width = work.k > 0 ? static_cast<double>(work.k) : 128, half = p_[P::HeadWidth];
    const double narrow = width / (width + half) * (128 + half) / 128;
    // A kernel that skips masked scores still computes whole blocks of 128 on the diagonal.
    const double whole = 4.0 * (backward ? 2.5 : 1) * static_cast<double>(work.m) *
                         static_cast<double>(work.n) * static_cast<double>(work.count) * width;
    const double seen = whole > 0 ? work.flops.value / whole * static_cast<double>(work.n) : 0;
    const double edge = seen > 0 && seen < 0.99 * static_cast<double>(work.n) ? 1 + 64 / seen : 1;
    const double format = bytes_of(work.math) == 4 ? kWideAttention : 1;
    return edge * work.flops.value /
           (r.attention * format * narrow * (backward ? p_[P::FlashBackward] : 1));
  }

  double kernel(const Work& work, const Rates& r, const Device& device) const {
    if (r.local) return local_core_time(work, device).seconds();
    const KernelFacts& facts = facts_of(work);
    double busy = 0;
    switch (work.kind) {
      case WorkKind::Product:
        if (facts.unfused)
          busy = unfused(work, r, device, facts.backward);
        else if (is_sparse_product(work))
          busy = std::max(sparse(work, r, device), traffic(work, r));
        else
          busy = std::max(product(work, r, device) /
                              ((facts.grouped ? grouped_share(work) : 1) * r.aligned(work, facts)),
                          traffic(work, r));
        break;
      case WorkKind::Attention:
        busy = std::max(fused(work, r, facts.backward), traffic(work, r));
        break;
      case WorkKind::Elementwise:
        busy = traffic(work, r) * (facts.routing ? p_[P::RoutedPasses] * age_ : r.chain);
        break;
      case WorkKind::Gather:
        busy = traffic(work, r);
        break;
      case WorkKind::Loss:
        busy = traffic(work, r) * p_[P::LossBytes] / 16;
        break;
      case WorkKind::Optimizer:
        busy = traffic(work, r) * p_[P::OptimizerBytes];
        break;
    }
    return busy / (work.fill > 0 ? work.fill : 1) + r.gap;
  }

  SettledSoftware software_;
  Parameters p_;
  double age_, host_age_;  // what a layer's routing takes, of the usual release's
  std::string device_;
  Rates rates_;
  LinkTerms links_;
};

}  // namespace

std::unique_ptr<CostModel> physical_cost_model(const SettledSoftware& software,
                                               const Parameters& parameters) {
  return std::make_unique<Physical>(software, parameters, nullptr);
}

namespace {

std::int64_t experts_of(const Model& model) {
  std::int64_t most = 0;
  for (const Block& block : model.blocks)
    for (const Tensor& tensor : block.graph.tensors)
      for (const Dim& dim : tensor.shape)
        if (dim.axis == Axis::Experts) most = std::max(most, dim.size);
  return most;
}

}  // namespace

std::unique_ptr<CostModel> physical_cost_model(const Scenario& scenario,
                                               const Parameters& parameters) {
  SettledSoftware software = settle(scenario.plan.software, scenario.cluster.device);
  // Experts that take no more than a fixed number of tokens need no counts, nor does a rank with
  // one expert, and a kernel that sends a token once to each rank counts on the device. A loop of
  // one's own has no dispatcher at all.
  if (const Choice* experts = find_choice(scenario.plan, "expert-parallel")) {
    const Params& params = experts->params;
    const bool bounded = params.has("capacity") && params.number("capacity") > 0;
    const bool one_kernel = params.has("copies") && params.text("copies") == "rank";
    software.counts_on_host =
        !bounded && !one_kernel && experts_of(scenario.model) > scenario.plan.mesh.ep;
  }
  if (software.framework->name == "pytorch") software.counts_on_host = false;
  return std::make_unique<Physical>(software, parameters, &scenario.cluster.device);
}

namespace {

bool is_of_kernels(std::string_view name) {
  constexpr std::string_view kOfKernels[] = {"format.", "product.",   "attention.", "chain.",
                                             "loss.",   "optimizer.", "experts."};
  return std::any_of(std::begin(kOfKernels), std::end(kOfKernels),
                     [&](std::string_view prefix) { return begins(name, prefix); });
}

}  // namespace

std::vector<Parameter> parameters_of(const Device& device) {
  const Generation g = generation(device);
  constexpr std::string_view kGenerations[] = {"volta", "ampere", "hopper", "blackwell", "tpu"};
  std::vector<Parameter> found;
  for (const ParameterInfo& row : parameter_table()) {
    const std::string_view last = row.name.substr(row.name.rfind('.') + 1);
    bool reads = true;
    for (std::size_t i = 0; i < std::size(kGenerations); ++i)
      if (last == kGenerations[i]) reads = static_cast<std::size_t>(g) == i + 1;
    // A core of this machine is priced by core/cost/local_core.h.
    if (is_local_core(device) && is_of_kernels(row.name)) reads = false;
    if (begins(row.name, "clock."))
      reads = begins(device.id, last.substr(0, last.find("-capped"))) &&
              (last != "h20" || is_h20(device));
    if (g == Generation::Other && (begins(row.name, "memory.rate") || begins(row.name, "kernel.") ||
                                   begins(row.name, "host.")))
      reads = false;
    if (reads) found.push_back(row.parameter);
  }
  return found;
}

}  // namespace trainyard
