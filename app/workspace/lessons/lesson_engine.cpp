#include "app/workspace/lessons/lesson_engine.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/workspace/scenario/workspace.h"
#include "core/base/units_text.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/plan/plan_limits.h"
#include "core/timeline/metrics.h"
#include "visualizers/view_data.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {
namespace {

constexpr int kMostDevices = 4096;
constexpr std::int64_t kMostActions = 400'000;  // of a lesson's schedule: it answers at once

const std::string* find(const LessonSettings& settings, std::string_view key) {
  const auto found = settings.find(key);
  return found == settings.end() ? nullptr : &found->second;
}

Place place_of(std::string_view key, std::string_view value) {
  return {std::string(key) + "=" + std::string(value)};
}

int count_of(const LessonSettings& settings, std::string_view key, int fallback, int most) {
  const std::string* text = find(settings, key);
  if (text == nullptr) return fallback;
  const std::int64_t value = parse_integer(*text, place_of(key, *text));
  if (value < 1 || value > most)
    throw Error(Error::Kind::InvalidInput,
                "expected a whole number from 1 to " + std::to_string(most) + ", found " + *text,
                place_of(key, *text));
  return static_cast<int>(value);
}

ScheduleRequest schedule_request(const LessonSettings& settings) {
  ScheduleRequest request;
  if (const std::string* name = find(settings, "schedule")) request.name = *name;
  request.devices = count_of(settings, "stages", request.devices, kMostDevices);
  request.microbatches = count_of(settings, "microbatches", request.microbatches, 1 << 20);
  if (find(settings, "virtual-stages") != nullptr)
    request.virtual_stages = count_of(settings, "virtual-stages", 1, kMostVirtualStages);
  const std::pair<std::string_view, Duration*> times[] = {
      {"forward", &request.forward},
      {"backward-input", &request.backward_input},
      {"backward-weight", &request.backward_weight}};
  for (const auto& [key, time] : times)
    if (const std::string* text = find(settings, key))
      *time = parse_duration(*text, place_of(key, *text));
  const std::pair<std::string_view, double*> fills[] = {{"forward-fill", &request.forward_fill},
                                                        {"backward-fill", &request.backward_fill}};
  for (const auto& [key, fill] : fills)
    if (const std::string* text = find(settings, key))
      *fill = std::clamp(parse_number(*text, place_of(key, *text)), 0.01, 1.0);
  for (const ParamSpec& spec : method(request.name).params)
    if (const std::string* text = find(settings, spec.name))
      request.params.set(std::string(spec.name),
                         parse_param(spec, *text, place_of(spec.name, *text)));
  if (std::int64_t{3} * request.devices * request.microbatches *
          std::max(1, request.virtual_stages) >
      kMostActions)
    throw Error(Error::Kind::InvalidInput, "expected fewer stages and microbatches",
                {to_text(settings)});
  return request;
}

int nearness(const std::string& setting) {
  const std::string key = setting.substr(0, setting.find('='));
  return key == "precision" || key == "schedule" ? 0 : key.find('.') == std::string::npos ? 1 : 2;
}

Request plan_request(const LessonSettings& settings) {
  Request request;
  for (const auto& [key, value] : settings) {
    if (key == "model")
      request.model = value;
    else if (key == "cluster")
      request.cluster = value;
    else if (find_setting(key) != nullptr || is_choice_param(key))
      request.settings.push_back(key + "=" + value);
  }
  // Settings on which others depend come first: a format before the formats of its parts, a
  // schedule before its parameters.
  std::stable_sort(
      request.settings.begin(), request.settings.end(),
      [](const std::string& a, const std::string& b) { return nearness(a) < nearness(b); });
  return request;
}

std::string setting_key(const Request& request) {
  std::string key = request.model + " " + request.cluster;
  for (const std::string& setting : request.settings) key += " " + setting;
  return key;
}
std::string setting_key(const ScheduleRequest& r) {
  std::string key = r.name;
  for (const std::int64_t number :
       {std::int64_t{r.devices}, std::int64_t{r.microbatches}, std::int64_t{r.virtual_stages},
        std::int64_t{r.forward.count()}, std::int64_t{r.backward_input.count()},
        std::int64_t{r.backward_weight.count()}})
    key += " " + std::to_string(number);
  return key + " " + to_text(r.forward_fill) + " " + to_text(r.backward_fill);
}

// A quantity of the plan's device, or of the device that is named.
double of_device(std::string_view name, const Device& device, const LessonSettings& settings) {
  if (name == "memory_rate") return device.memory_bandwidth.value.value;
  if (name == "memory_size") return static_cast<double>(device.memory.value.value);
  if (name == "link_rate") return device.scale_up.value.value;
  if (name == "network_rate") return device.network.value.value;
  const std::string* format = find(settings, "format");
  if (format == nullptr) return peak(device, DType::BF16).value;
  static const std::vector<std::pair<std::string_view, DType>> kTypes = {{"bf16", DType::BF16},
                                                                         {"fp16", DType::F16},
                                                                         {"tf32", DType::TF32},
                                                                         {"fp32", DType::F32},
                                                                         {"fp8", DType::F8}};
  for (const auto& [word, type] : kTypes)
    if (word == *format) return peak(device, type).value;
  throw Error(Error::Kind::InvalidInput, "expected bf16, fp16, tf32, fp32 or fp8, found " + *format,
              place_of("format", *format));
}

bool of_a_device(std::string_view name) {
  return name == "dense" || name == "memory_rate" || name == "memory_size" || name == "link_rate" ||
         name == "network_rate";
}

double bytes_of(const StageMemory& memory, Category category) {
  return static_cast<double>(memory.categories[static_cast<std::size_t>(category)].value);
}

}  // namespace

LessonEngine::LessonEngine(Lesson lesson) : lesson_(std::move(lesson)) {}

std::shared_ptr<const ScheduleStudy> LessonEngine::schedule(const LessonSettings& settings) const {
  const ScheduleRequest request = schedule_request(settings);
  std::string key = setting_key(request);
  for (const ParamSpec& spec : method(request.name).params)
    if (const std::string* text = find(settings, spec.name)) key += " " + *text;
  {
    const std::lock_guard lock(guard_);
    if (const auto found = schedules_.find(key); found != schedules_.end()) return found->second;
  }
  auto made = std::make_shared<const ScheduleStudy>(study(request));
  const std::lock_guard lock(guard_);
  return schedules_.emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const ViewData> LessonEngine::plan(const LessonSettings& settings) const {
  const Request request = plan_request(settings);
  const std::string key = setting_key(request);
  {
    const std::lock_guard lock(guard_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  const Scenario scenario = open(request);
  SimulateOptions options;
  options.grain = natural_grain(scenario);
  options.fixes = false;
  const ExperimentPtr experiment = simulate(scenario, options);
  auto made =
      std::make_shared<const ViewData>(experiment, cost_model(experiment->workload.scenario));
  const std::lock_guard lock(guard_);
  return plans_.emplace(key, std::move(made)).first->second;
}

double LessonEngine::of_schedule(std::string_view name, const LessonSettings& settings) const {
  const std::shared_ptr<const ScheduleStudy> s = schedule(settings);
  if (name == "makespan") return s->makespan;
  if (name == "ideal") return s->ideal;
  if (name == "bubble") return s->bubble_fraction;
  if (name == "over_one_wave") return s->over_one_wave;
  if (name == "over_ideal") return s->makespan / s->ideal - 1;
  double live = 0, span = 0;
  for (const DeviceStudy& d : s->devices) {
    live = std::max(live, d.live);
    span = std::max(span, d.bubble_fraction);
  }
  return name == "span_bubble" ? span : live;
}

std::shared_ptr<const Result> LessonEngine::estimated(const LessonSettings& settings) const {
  const Request request = plan_request(settings);
  const std::string key = setting_key(request);
  {
    const std::lock_guard lock(guard_);
    if (const auto found = estimates_.find(key); found != estimates_.end()) return found->second;
  }
  auto made = std::make_shared<const Result>(trainyard::estimate(open(request)));
  const std::lock_guard lock(guard_);
  return estimates_.emplace(key, std::move(made)).first->second;
}

double LessonEngine::of_waves(std::string_view name, const LessonSettings& settings) const {
  const std::shared_ptr<const ViewData> data = plan(settings);
  const WavesModel& waves = data->get<WavesModel>();
  if (name == "best_offset") return waves.scan.share[waves.scan.best];
  if (name == "offset")
    return waves.devices.empty() ? 0 : own_offset(waves, waves.devices.front()).value_or(0);
  const Experiment& run = *data->experiment;
  return static_cast<double>(live_microbatches(run.timeline, run.program, StageId{0}));
}

double LessonEngine::of_plan(std::string_view name, const LessonSettings& settings) const {
  if (name == "best_offset" || name == "offset" || name == "live") return of_waves(name, settings);
  // Uses the closed form if the lesson asks for it, which takes milliseconds instead of tenths of a
  // second.
  const std::string* fidelity = find(settings, "fidelity");
  std::shared_ptr<const ViewData> simulated;
  std::shared_ptr<const Result> closed;
  if (fidelity != nullptr && *fidelity == "estimate")
    closed = estimated(settings);
  else
    simulated = plan(settings);
  const Result& r = closed != nullptr ? *closed : simulated->experiment->result;
  const Breakdown& b = r.breakdown;
  const StageMemory& first = r.memory.front();
  const Bytes fullest = worst_peak(r);
  const std::pair<std::string_view, double> values[] = {
      {"step", to_seconds(r.step.value)},
      {"bubble", r.bubble_fraction},
      {"exposed", r.exposed_communication_fraction},
      {"mfu", r.mfu},
      {"hfu", r.hfu},
      {"peak", static_cast<double>(fullest.value)},
      {"capacity", static_cast<double>(r.capacity.value)},
      {"fits", r.verdict.fits ? 1.0 : 0.0},
      {"weights", bytes_of(first, Category::Weights)},
      {"gradients", bytes_of(first, Category::Gradients)},
      {"optimizer", bytes_of(first, Category::OptimizerState)},
      {"activations", bytes_of(first, Category::Activations)},
      {"parameters", static_cast<double>(r.parameters)},
      {"devices", static_cast<double>(r.devices)},
      {"tokens_per_second", tokens_per_second(r)},
      {"forward_time", to_seconds(b.forward)},
      {"backward_time", to_seconds(b.backward)},
      {"recompute_time", to_seconds(b.recompute)},
      {"tensor_time", to_seconds(b.tensor_parallel)},
      {"pipeline_time", to_seconds(b.pipeline)},
      {"data_time", to_seconds(b.data_parallel)},
      {"optimizer_time", to_seconds(b.optimizer)},
      {"bubble_time", to_seconds(b.bubble)}};
  for (const auto& [word, value] : values)
    if (word == name) return value;
  throw Error(Error::Kind::InvalidInput, "plans have no quantity \"" + std::string(name) + "\"");
}

double LessonEngine::quantity(std::string_view name, const LessonSettings& settings) const {
  if (const LessonFigure* figure = find_figure(lesson_, name))
    return evaluate(figure->value, *this, settings);
  if (of_a_device(name)) {
    if (lesson_.world == LessonWorld::Plan)
      return of_device(name, open(plan_request(settings)).cluster.device, settings);
    const std::string* id = find(settings, "device");
    if (id == nullptr)
      throw Error(Error::Kind::InvalidInput,
                  "expected a setting device= for \"" + std::string(name) + "\"");
    return of_device(name, device(*id), settings);
  }
  const LessonQuantity* known = find_lesson_quantity(name, lesson_.world, false);
  if (known != nullptr && known->run) {
    const std::string* measured = find(settings, name);
    return measured == nullptr ? 0 : parse_number(*measured, place_of(name, *measured));
  }
  if (known != nullptr)
    return lesson_.world == LessonWorld::Schedule ? of_schedule(name, settings)
                                                  : of_plan(name, settings);
  std::string key(name);
  const std::string* text = find(settings, key);
  if (text == nullptr) {
    std::replace(key.begin(), key.end(), '_', '-');
    text = find(settings, key);
  }
  if (text == nullptr)
    throw Error(Error::Kind::InvalidInput, "no setting is called \"" + std::string(name) + "\"");
  return parse_lesson_number(*text, place_of(key, *text));
}

double LessonEngine::quantity(std::string_view name, double index,
                              const LessonSettings& settings) const {
  if (name == "peak_at") {
    const std::shared_ptr<const ViewData> data = plan(settings);
    return static_cast<double>(
        peak_at_offset(data->get<WavesModel>().scan, std::clamp(index, 0.0, 1.0)));
  }
  const std::shared_ptr<const ScheduleStudy> s = schedule(settings);
  if (!(index >= 0) || index >= static_cast<double>(s->devices.size()))
    throw Error(Error::Kind::InvalidInput, "expected a stage from 0 to " +
                                               std::to_string(s->devices.size() - 1) + ", found " +
                                               to_text(index));
  return s->devices[static_cast<std::size_t>(index)].live;
}

double LessonEngine::value(const Expression& expression, const LessonSettings& settings) const {
  const double value = evaluate(expression, *this, settings);
  if (!std::isfinite(value))
    throw Error(Error::Kind::InvalidInput, "expected a number, found none",
                {expression.text() + " at " + to_text(settings)});
  return value;
}

std::string LessonEngine::text(const LessonText& prose, const LessonSettings& settings) const {
  std::string text;
  for (const LessonText::Piece& piece : prose.pieces) {
    text += piece.words;
    if (!piece.value) continue;
    const bool figure = find_figure(lesson_, piece.value->text()) != nullptr;
    text += in_unit(value(*piece.value, figure ? lesson_.settings : settings), piece.unit);
  }
  return text;
}

double LessonEngine::truth(std::size_t step) const {
  const LessonQuestion& question = *lesson_.steps.at(step).question;
  return value(question.answer, settings_of(lesson_, step)) / question.unit.factor;
}

std::vector<ComputedFigure> LessonEngine::figures() const {
  std::vector<ComputedFigure> all;
  for (const LessonFigure& figure : lesson_.figures) {
    ComputedFigure computed;
    computed.figure = &figure;
    computed.value = value(figure.value, lesson_.settings) / figure.unit.factor;
    for (const LessonFigure::Claim& claim : figure.claims) {
      const double deviation = computed.value / claim.value - 1;
      const bool close = std::abs(deviation) <= claim.within;
      computed.against.push_back({&claim, deviation, close != claim.refuted});
    }
    all.push_back(std::move(computed));
  }
  return all;
}

}  // namespace trainyard
