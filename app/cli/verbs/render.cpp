// render: writes any view of a simulated scenario as a picture or as a table, without a display.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <vector>

#include "app/cli/text/plans/bound_words.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/plans/plan_points.h"
#include "app/workspace/plans/plan_study.h"
#include "app/workspace/scenario/published.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/wave_study.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/io/bytes/file_writer.h"
#include "core/result/figures.h"
#include "core/validation/validation.h"
#include "visualizers/compare/waterfall_view.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/imgui/render.h"
#include "visualizers/plans/pareto_view.h"
#include "visualizers/validation/validation_view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

// These are not views of an experiment.
constexpr std::string_view kValidation = "validation", kPareto = "pareto", kWaterfall = "waterfall";

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The forms in which a view can be written, together with the data that they read.
struct Rendered {
  Size usual;
  std::function<Drawing(Size, const ViewState&)> draw;
  std::function<DataTable()> table;
};

std::string picture(const Rendered& view, const Words& words, bool svg) {
  const Size size{static_cast<float>(words.integer("width", 64, 16384,
                                                   static_cast<std::int64_t>(view.usual.width))),
                  static_cast<float>(words.integer("height", 64, 16384,
                                                   static_cast<std::int64_t>(view.usual.height)))};
  const Theme theme =
      words.choice("theme", {"dark", "light"}, "dark") == "dark" ? Theme::Dark : Theme::Light;
  ViewState state;
  state.scale = words.number("scale", 0.25, 8, 1);
  state.every_rank = true;  // a file cannot be scrolled
  const double pixels = static_cast<double>(size.width) * static_cast<double>(size.height) *
                        state.scale * state.scale;
  if (!svg && pixels > 2.0e8)
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected at most 200 million pixels, found {:.0f} million", pixels / 1e6),
        {"--scale"});
  const Drawing drawing = view.draw(size, state);
  return svg ? to_svg(drawing, theme) : to_png(render(drawing, state.scale, theme));
}

// The shipped rows, all compared with their predictions.
Rendered validation_of() {
  const auto model = std::make_shared<const ValidationModel>(
      validation_model(published_set(), validate(published_set(), {.explained = 0})));
  return {validation_size(*model),
          [model](Size size, const ViewState& state) {
            Drawing drawing(size);
            draw_validation(drawing, {0, 0, size.width, size.height}, *model, state);
            return drawing;
          },
          [model] { return validation_table(*model); }};
}

// Every legal plan of the space that --set leaves open.
Rendered pareto_of(const Words& words) {
  PlanQuestion question{
      {words.text("model"), words.text("cluster"), words.text("plan"), words.texts("set")}, {}, ""};
  question.bounds = bounds_of(words);
  const auto space = std::make_shared<const PlanSpace>(open_space(question));
  PlanPrices prices("");
  SearchOptions options;
  prices.equip(options);
  const auto model = std::make_shared<const ParetoModel>(
      plan_points(*space, search(*space, options), options.spare));
  return {kParetoSize,
          [model](Size size, const ViewState&) {
            Drawing drawing(size);
            draw_pareto(drawing, {0, 0, size.width, size.height}, *model, {});
            return drawing;
          },
          [model, space] {
            return pareto_table(*model, [&](std::uint64_t id) {
              return fmt::format("{}", fmt::join(space->words(id), " "));
            });
          }};
}

MemorySide memory_side(const std::string& name, const Result& result) {
  MemorySide side{name, {}, {}};
  if (const StageMemory* most = fullest(result)) {
    side.categories = most->categories;
    side.reserved = std::max(most->reserved, most->peak.value);
  }
  return side;
}

// The waterfall from the plan to the plan with --against's settings.
Rendered waterfall_of(const Words& words, Streams& streams) {
  if (!words.has("against"))
    throw Error(Error::Kind::InvalidInput,
                "a waterfall has two plans: expected settings of the other, as \"pp=2 zero=1\"",
                {"--against"});
  const Scenario a = open_scenario(words, streams);
  Scenario b = a;
  apply_words(b.plan, words.text("against"), {"--against"});
  throw_if_errors(check(b));
  const auto run = [&](const Scenario& s) {
    return simulate(s, {.grain = grain_word(words, s), .fixes = false})->result;
  };
  const Result x = run(a), y = run(b);
  const auto both = std::make_shared<const std::vector<WaterfallModel>>(
      std::vector<WaterfallModel>{time_waterfall("A", x.breakdown, "B", y.breakdown),
                                  memory_waterfall(memory_side("A", x), memory_side("B", y))});
  return {waterfall_size(*both),
          [both](Size size, const ViewState&) { return waterfall_picture(*both, size); },
          [both] { return waterfall_table(*both); }};
}

// Uses the given budget, price and overhead.
Rendered energy_of(const std::shared_ptr<const ViewData>& data, const Words& words, Size usual) {
  EnergyState own;
  if (words.has("tokens")) {
    const std::optional<double> budget = parse_budget(words.text("tokens"), 1, 1e18);
    if (!budget)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected a count as 15T, 300B or 1e12, found \"{}\"",
                              words.text("tokens").substr(0, 80)),
                  {"--tokens"});
    own.budget = *budget;
  }
  if (words.has("device-hour")) own.price = words.number("device-hour", 0.0001, 1e6, 1);
  if (words.has("pue")) own.overhead = words.number("pue", 1, kMostOverhead, 1);
  if (words.has("region"))
    own.region =
        with_place("--region", [&] { return std::string(region(words.text("region")).name); });
  return {usual,
          [data, own](Size size, const ViewState&) {
            Drawing drawing(size);
            draw_energy(drawing, {0, 0, size.width, size.height}, data->get<EnergyModel>(), own);
            return drawing;
          },
          [data, own] { return energy_table(data->get<EnergyModel>(), own); }};
}

Rendered experiment_of(const View& chosen, const Words& words, Streams& streams) {
  const Scenario scenario = open_scenario(words, streams);
  const ExperimentPtr experiment =
      simulate(scenario, {.grain = grain_word(words, scenario), .fixes = false});
  const auto data = std::make_shared<const ViewData>(
      experiment, cost_model(experiment->workload.scenario),
      chosen.name == "waves" ? wave_study(scenario, experiment->grain) : nullptr);
  if (chosen.name == "energy") return energy_of(data, words, chosen.size);
  return {chosen.size,
          [data, &chosen](Size size, const ViewState& state) {
            return chosen.draw(*data, size, state);
          },
          [data, &chosen] { return chosen.table(*data, {}); }};
}

enum class FileKind { Svg, Png, Csv };

FileKind file_kind(const std::string& path) {
  for (const auto& [end, kind] :
       {std::pair(".svg", FileKind::Svg), std::pair(".png", FileKind::Png),
        std::pair(".csv", FileKind::Csv)})
    if (ends_with(path, end)) return kind;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected a file ending in .svg, .png or .csv, found \"{}\"", path),
              {"--out"});
}

int run_render(const Words& words, Streams& streams) {
  const std::string name = words.text("");
  const bool own = name == kValidation || name == kPareto || name == kWaterfall;
  const View* chosen = own ? nullptr : &view(name);
  // Invalid combinations are refused before anything is read.
  const bool picture_or_table = words.has("out") || !words.has("csv");
  const FileKind kind = picture_or_table ? file_kind(words.text("out")) : FileKind::Csv;
  words.choice("grain", {"order", "op"}, "order");
  const Rendered rendered = name == kValidation  ? validation_of()
                            : name == kPareto    ? pareto_of(words)
                            : name == kWaterfall ? waterfall_of(words, streams)
                                                 : experiment_of(*chosen, words, streams);
  const auto write = [&](const std::string& path, const std::string& bytes) {
    write_file(path, bytes);
    if (!words.has("quiet")) streams.err << "wrote " << path << "\n";
  };
  if (picture_or_table)
    write(words.text("out"), kind == FileKind::Csv
                                 ? to_csv(rendered.table())
                                 : picture(rendered, words, kind == FileKind::Svg));
  if (words.has("csv")) write(words.text("csv"), to_csv(rendered.table()));
  return kDone;
}

std::string_view view_names() {
  static const std::string names = [] {
    std::string list;
    for (const View& one : views()) list += (list.empty() ? "" : ", ") + std::string(one.name);
    return list +
           ", pareto (plans of a search), waterfall (against another plan), or validation: the "
           "published rows, without a model";
  }();
  return names;
}

}  // namespace

Verb render_verb() {
  return {
      .name = "render",
      .summary =
          "Draws a view of a simulated scenario into a file, without a display, or writes the "
          "rows behind it.",
      .positional = "VIEW",
      .positional_doc = view_names(),
      .positional_required = true,
      .flags = with_scenario_flags(
          {order_flag(),
           grain_flag(),
           {"bound", "KEY=VALUES", "of pareto: values that a knob may take, as tp=1..8", true},
           {"against", "WORDS", "of waterfall: settings of the other plan, as \"pp=2 zero=1\""},
           {"csv", "FILE", "also writes the rows behind the picture, or only those"},
           {"tokens", "N", "of energy: tokens (or samples) of the training, as 15T (default 1T)"},
           {"device-hour", "X", "of energy: US dollars of a device hour"},
           {"pue", "X", "of energy: overhead of the building (default: the cluster's)"},
           {"region", "NAME",
            "of energy: whose electricity it takes, as sweden (default: the cluster's)"},
           {"width", "N", "logical pixels"},
           {"height", "N", "logical pixels"},
           {"scale", "X", "device pixels a logical one, for .png (default 1)"},
           {"theme", "THEME", "dark (default) or light"}}),
      .examples =
          {"render memory --model llama-3-8b --cluster h100-sxm:8 --set tp=8 --out memory.svg",
           "render waterfall --model gpt-tiny --cluster cpu:2 --set pp=2 --set global-batch=8 "
           "--against \"pp=1 zero=1\" --out waterfall.svg",
           "render roofline --model llama-3-8b --cluster h100-sxm:8 --set tp=8 --out roofline.csv",
           "render energy --model llama-3-8b --cluster h100-sxm:8 --set tp=8 --tokens 15T --out "
           "energy.svg",
           "render pareto --model llama-3-8b --cluster h100-sxm:8 --set global-batch=16 --out "
           "pareto.svg"},
      .run = run_render};
}

}  // namespace trainyard
