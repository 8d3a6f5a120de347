#include "core/io/documents/calibration_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr const char* kCalibrationSchema = "trainyard/calibration";
constexpr std::string_view kOptimizer = "optimizer";

const std::vector<std::string> kWorkKinds = {"product", "attention", "elementwise",
                                             "gather",  "loss",      "optimizer"};

Form<Duration> time_text() {
  return {text().schema, [](Duration time) { return Json(to_text(time)); },
          [](const JsonCursor& at) { return at.duration(); }};
}

Form<BytesPerSecond> rate_text() {
  return {text().schema, [](BytesPerSecond rate) { return Json(to_text(rate)); },
          [](const JsonCursor& at) {
            const BytesPerSecond rate = at.bandwidth();
            if (!(rate.value > 0)) at.expected("a rate above 0");
            return rate;
          }};
}

std::int16_t read_kernel(const JsonCursor& at) {
  const std::string name = at.text();
  if (name == kOptimizer) return -1;
  if (const std::optional<std::int16_t> kernel = find_kernel(name)) return *kernel;
  std::vector<std::string> names;
  for (std::int16_t i = 0; !kernel_name(i).empty(); ++i) names.push_back(kernel_name(i));
  at.refuse("expected the name of a kernel, found \"" + name.substr(0, 60) + "\"" +
            did_you_mean(name, names));
}

Form<std::int16_t> kernel_form() {
  return {text().schema,
          [](std::int16_t kernel) {
            return Json(kernel < 0 ? std::string(kOptimizer) : kernel_name(kernel));
          },
          read_kernel};
}

Form<WorkKind> kind_form() {
  return {text().schema,
          [](WorkKind kind) { return Json(kWorkKinds[static_cast<std::size_t>(kind)]); },
          [](const JsonCursor& at) {
            const std::string kind = at.one_of(kWorkKinds);
            return static_cast<WorkKind>(std::find(kWorkKinds.begin(), kWorkKinds.end(), kind) -
                                         kWorkKinds.begin());
          }};
}

Form<DType> math_form() {
  return {text().schema, [](DType math) { return Json(to_string(math)); },
          [](const JsonCursor& at) {
            const std::optional<DType> type = parse_dtype(at.text());
            if (!type) at.expected("a number format");
            return *type;
          }};
}

// Sizes that a kernel does not have are left out of the document.
std::optional<std::vector<std::int64_t>> shape_of(const KernelTiming& timing) {
  const Work& work = timing.work;
  if (work.m <= 0 && work.n <= 0 && work.k <= 0 && work.count == 1) return std::nullopt;
  return std::vector<std::int64_t>{work.count, work.m, work.n, work.k};
}

const std::vector<std::string> kOtherShapes = {"interpolated", "learned"};

Form<OtherShapes> other_shapes_form() {
  return {one_of(kOtherShapes).schema,
          [](OtherShapes by) { return Json(kOtherShapes[static_cast<std::size_t>(by)]); },
          [](const JsonCursor& at) {
            return at.one_of(kOtherShapes) == "learned" ? OtherShapes::Learned
                                                        : OtherShapes::Interpolated;
          }};
}

void read_shape(KernelTiming& timing, const JsonCursor& at) {
  Work& work = timing.work;
  const std::vector<JsonCursor> sizes = at.items();
  if (sizes.size() != 4) at.expected("four numbers: count, m, n, k");
  std::int64_t* const into[] = {&work.count, &work.m, &work.n, &work.k};
  for (std::size_t i = 0; i < 4; ++i) *into[i] = sizes[i].integer(0);
}

Fields<KernelTiming> kernel_fields() {
  const auto work = [](auto member) { return in(&KernelTiming::work, member); };
  return {{"kernel", work(&Work::kernel), kernel_form(), "op and pass, or optimizer"},
          {"kind", work(&Work::kind), kind_form()},
          {"math", work(&Work::math), math_form()},
          {"shape", shape_of, read_shape, "count, m, n, k"},
          {"flops", work(&Work::flops), number(kAmount)},
          {"read_bytes", work(&Work::read)},
          {"written_bytes", work(&Work::written)},
          {"before_bytes", work(&Work::before), kWhereSet, "touched by the kernel before it"},
          {"time", &KernelTiming::time, time_text(), "median, as 271 us"},
          {"spread", &KernelTiming::spread, number(kAmount), "of the median"},
          {"repeats", &KernelTiming::repeats, whole(1, 1'000'000'000)}};
}

Fields<TransferTiming> copy_fields() {
  return {{"start", &TransferTiming::start, time_text(), "as 1.5 us"},
          {"rate", &TransferTiming::rate, rate_text(), "as 17 GB/s"}};
}

const std::vector<std::string> kVariantKernelNames = {"product", "convolution"};

Form<VariantKernel> variant_kernel_form() {
  return {one_of(kVariantKernelNames).schema,
          [](VariantKernel kernel) { return Json(std::string(to_string(kernel))); },
          [](const JsonCursor& at) {
            return at.one_of(kVariantKernelNames) == "product" ? VariantKernel::Product
                                                               : VariantKernel::Convolution;
          }};
}

std::vector<std::int64_t> variant_sizes(const VariantTiming& timing) {
  const auto& sizes = timing.shape.sizes;
  const auto count = static_cast<std::ptrdiff_t>(shape_names(timing.shape.kernel).size());
  return {sizes.begin(), sizes.begin() + count};
}

void read_variant_sizes(VariantTiming& timing, const JsonCursor& at) {
  const auto names = shape_names(timing.shape.kernel);
  const std::vector<JsonCursor> sizes = at.items();
  if (sizes.size() != names.size())
    at.expected(fmt::format("{} numbers: {}", names.size(), fmt::join(names, ", ")));
  for (std::size_t i = 0; i < sizes.size(); ++i) timing.shape.sizes[i] = sizes[i].integer(0);
  if (timing.shape.kernel == VariantKernel::Convolution && timing.shape.sizes[0] > 2)
    sizes[0].expected("a pass: 0 forward, 1 of the input, 2 of the weight");
}

std::vector<std::string> variant_times(const VariantTiming& timing) {
  std::vector<std::string> times;
  for (const Duration time : timing.times) times.push_back(to_text(time));
  return times;
}

void read_variant_times(VariantTiming& timing, const JsonCursor& at) {
  const auto names = variant_names(timing.shape.kernel);
  const std::vector<JsonCursor> times = at.items();
  if (times.size() != names.size())
    at.expected(fmt::format("{} times: {}", names.size(), fmt::join(names, ", ")));
  for (std::size_t v = 0; v < times.size(); ++v) {
    timing.times.push_back(times[v].duration());
    const bool there = has_variant(timing.shape, static_cast<int>(v));
    if (there != (timing.times.back() > Duration{}))
      times[v].expected(there ? "a time above 0" : "0 s, as this shape has no such variant");
  }
}

std::string variant_usual(const VariantTiming& timing) {
  return std::string(variant_names(timing.shape.kernel)[static_cast<std::size_t>(timing.usual)]);
}

void read_variant_usual(VariantTiming& timing, const JsonCursor& at) {
  const auto names = variant_names(timing.shape.kernel);
  const std::string name = at.one_of({names.begin(), names.end()});
  timing.usual = static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
  if (!has_variant(timing.shape, timing.usual)) at.expected("a variant that this shape has");
}

Fields<VariantTiming> variant_fields() {
  return {{"kernel", in(&VariantTiming::shape, &KernelShape::kernel), variant_kernel_form()},
          {"sizes", variant_sizes, read_variant_sizes,
           "of a product m, n, k, and whether a and b are transposed, it adds, has a bias; of a "
           "convolution pass, images, channels, height, width, output channels, height, width, "
           "kernel, stride, padding"},
          {"usual", variant_usual, read_variant_usual, "where nobody chooses"},
          {"times", variant_times, read_variant_times,
           "of a product primitive, gemm, tiles; of a convolution blocked, plain, winograd; 0 s: "
           "the shape has none"}};
}

Fields<ExchangeTiming> exchange_fields() {
  return {{"collective", &ExchangeTiming::collective, collective_form(),
           "absent: a message from one rank to another"},
          {"ranks", &ExchangeTiming::ranks, whole(2, 1'000'000)},
          {"bytes", &ExchangeTiming::bytes},
          {"time", &ExchangeTiming::time, time_text(), "median, as 271 us"},
          {"per-node", &ExchangeTiming::per_node, whole(1, 1'000'000), kWhereSet,
           "ranks of the group in one node; absent: any number"}};
}

Fields<ExposedCommunication> exposed_fields() {
  return {{"collective", &ExposedCommunication::collective, collective_form(),
           "absent: all communication"},
          {"ranks", &ExposedCommunication::ranks, whole(2, 1'000'000), kWhereSet},
          {"share", &ExposedCommunication::share, number(kShare)}};
}

Fields<MeasuredContention> contention_fields() {
  return {{"of", &MeasuredContention::of},
          {"factor", &MeasuredContention::factor, number({"a factor", 0.01, 100}),
           "of the time beside the other sort of work over the time apart from it"},
          {"spread", &MeasuredContention::spread, number(kAmount), "of the factor"},
          {"kernels", &MeasuredContention::kernels, whole(1, 1'000'000'000)},
          {"time", &MeasuredContention::time, time_text(), "of these kernels apart, as 271 us"}};
}

Fields<Calibration> calibration_members() {
  return {
      {"machine", &Calibration::machine},
      {"device", &Calibration::device, kWhereSet,
       "of the catalogue; absent: a core of the machine itself"},
      {"overhead", &Calibration::overhead, time_text(), kDefaulted,
       "of an executor, a kernel, as 500 ns"},
      {"issue", &Calibration::issue, time_text(), kWhereSet,
       "of the host, a kernel; absent: not recorded"},
      {"reserve", &Calibration::reserve, number({"a factor", 1, 1000}), kWhereSet,
       "reserved over allocated memory; absent: not recorded"},
      {"copy", &Calibration::copy, object(copy_fields())},
      {"reduce", &Calibration::reduce, rate_text(), "of adding up, as 11 GB/s"},
      {"exchanges", &Calibration::exchanges, list_of(object(exchange_fields())), kDefaulted,
       "between processes"},
      {"held-back", &Calibration::held_back, list_of(object(exchange_fields())), kDefaulted,
       "exchanges of other sizes, which no price was made of"},
      {"exposed", &Calibration::exposed, list_of(object(exposed_fields())), kWhereSet,
       "communication of the recorded run beside which its rank computed nothing"},
      {"contention", &Calibration::contention, list_of(object(contention_fields())), kWhereSet,
       "how much longer computation took beside communication, and the reverse"},
      {"residual", Fields<Calibration>{{"median", &Calibration::residual_median, number(kAmount)},
                                       {"worst", &Calibration::residual_worst, number(kAmount)}}},
      {"kernels", &Calibration::kernels, list_of(object(kernel_fields()))},
      {"other-shapes", &Calibration::other_shapes, other_shapes_form(), kDefaulted,
       "how kernels are priced at shapes that were not measured: interpolated or learned"},
      {"variants", &Calibration::variants, list_of(object(variant_fields())), kWhereSet,
       "ways to compute a kernel, of which a run takes the fastest"},
      {"notes", &Calibration::notes, kDefaulted}};
}

}  // namespace

Form<CollectiveKind> collective_form() {
  return {text().schema, [](CollectiveKind kind) { return Json(std::string(to_string(kind))); },
          [](const JsonCursor& at) {
            std::vector<std::string> names;
            for (const CollectiveKind kind : kCollectiveKinds) names.emplace_back(to_string(kind));
            const std::string name = at.one_of(names);
            return kCollectiveKinds[static_cast<std::size_t>(
                std::find(names.begin(), names.end(), name) - names.begin())];
          }};
}

const Fields<Calibration>& calibration_fields() {
  static const Fields<Calibration> fields =
      document_fields(kCalibrationSchema, calibration_members());
  return fields;
}

std::string write_calibration(const Calibration& calibration) {
  return write_json(calibration_fields().write(calibration));
}

Calibration read_calibration(std::string_view text, const std::string& source) {
  return read_fields(calibration_fields(), text, kCalibrationSchema, source);
}

}  // namespace trainyard
