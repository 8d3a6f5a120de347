#include "core/io/documents/calibration_json.h"

#include <utility>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/io/json/quantity.h"
#include "core/io/json/schema.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr const char* kCalibrationSchema = "trainyard/calibration";
constexpr std::string_view kOptimizer = "optimizer";

const std::vector<std::string> kWorkKinds = {"product", "attention", "elementwise",
                                             "gather",  "loss",      "optimizer"};

// Sizes that a kernel does not have are left out of the document.
Json product_json(const Work& work) {
  Json list = Json::list();
  for (const std::int64_t size : {work.count, work.m, work.n, work.k}) list.push(size);
  return list;
}

Json kernel_json(const KernelTiming& timing) {
  const Work& work = timing.work;
  Json json = Json::object();
  json.set("kernel", work.kernel < 0 ? std::string(kOptimizer) : kernel_name(work.kernel));
  json.set("kind", kWorkKinds[static_cast<std::size_t>(work.kind)]);
  json.set("math", to_string(work.math));
  if (work.m > 0 || work.n > 0 || work.k > 0 || work.count != 1)
    json.set("shape", product_json(work));
  json.set("flops", work.flops.value);
  json.set("read_bytes", work.read.value);
  json.set("written_bytes", work.written.value);
  json.set("time", to_text(timing.time));
  json.set("spread", timing.spread);
  json.set("repeats", timing.repeats);
  return json;
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

void read_shape(const JsonCursor& at, Work& work) {
  const std::vector<JsonCursor> sizes = at.items();
  if (sizes.size() != 4) at.expected("four numbers: count, m, n, k");
  std::int64_t* const into[] = {&work.count, &work.m, &work.n, &work.k};
  for (std::size_t i = 0; i < 4; ++i) *into[i] = sizes[i].integer(0);
}

KernelTiming read_kernel_timing(const JsonCursor& at) {
  at.expect_keys({"kernel", "kind", "math", "shape", "flops", "read_bytes", "written_bytes", "time",
                  "spread", "repeats"});
  KernelTiming timing;
  Work& work = timing.work;
  work.kernel = read_kernel(at.at("kernel"));
  const std::string kind = at.at("kind").one_of(kWorkKinds);
  for (std::size_t i = 0; i < kWorkKinds.size(); ++i)
    if (kWorkKinds[i] == kind) work.kind = static_cast<WorkKind>(i);
  const JsonCursor math = at.at("math");
  const std::optional<DType> type = parse_dtype(math.text());
  if (!type) math.expected("a number format");
  work.math = *type;
  if (const auto shape = at.find("shape")) read_shape(*shape, work);
  work.flops.value = quantity(at.at("flops"), kAmount);
  work.read = Bytes{at.at("read_bytes").integer(0)};
  work.written = Bytes{at.at("written_bytes").integer(0)};
  timing.time = at.at("time").duration();
  timing.spread = quantity(at.at("spread"), kAmount);
  timing.repeats = static_cast<int>(at.at("repeats").integer(1, 1'000'000'000));
  return timing;
}

}  // namespace

std::string write_calibration(const Calibration& c) {
  Json copy = Json::object();
  copy.set("start", to_text(c.copy.start));
  copy.set("rate", to_text(c.copy.rate));
  Json residual = Json::object();
  residual.set("median", c.residual_median);
  residual.set("worst", c.residual_worst);
  Json kernels = Json::list(), notes = Json::list();
  for (const KernelTiming& timing : c.kernels) kernels.push(kernel_json(timing));
  for (const std::string& note : c.notes) notes.push(note);
  Json json = Json::object();
  json.set("schema", schema_name(schema(kCalibrationSchema)));
  json.set("machine", c.machine);
  json.set("overhead", to_text(c.overhead));
  json.set("copy", std::move(copy));
  json.set("reduce", to_text(c.reduce));
  json.set("residual", std::move(residual));
  json.set("kernels", std::move(kernels));
  json.set("notes", std::move(notes));
  return write_json(json);
}

Calibration read_calibration(std::string_view text, const std::string& source) {
  const Json json = read_document(text, kCalibrationSchema, source);
  const JsonCursor root(json, source);
  root.expect_keys(
      {"schema", "machine", "overhead", "copy", "reduce", "residual", "kernels", "notes"});
  Calibration c;
  c.machine = root.at("machine").text();
  if (const auto overhead = root.find("overhead")) c.overhead = overhead->duration();
  const JsonCursor copy = root.at("copy");
  copy.expect_keys({"start", "rate"});
  c.copy.start = copy.at("start").duration();
  c.copy.rate = copy.at("rate").bandwidth();
  if (!(c.copy.rate.value > 0)) copy.at("rate").expected("a rate above 0");
  c.reduce = root.at("reduce").bandwidth();
  if (!(c.reduce.value > 0)) root.at("reduce").expected("a rate above 0");
  const JsonCursor residual = root.at("residual");
  residual.expect_keys({"median", "worst"});
  c.residual_median = quantity(residual.at("median"), kAmount);
  c.residual_worst = quantity(residual.at("worst"), kAmount);
  for (const JsonCursor& one : root.at("kernels").items())
    c.kernels.push_back(read_kernel_timing(one));
  if (const auto notes = root.find("notes"))
    for (const JsonCursor& note : notes->items()) c.notes.push_back(note.text());
  return c;
}

}  // namespace trainyard
