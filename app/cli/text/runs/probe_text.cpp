#include "app/cli/text/runs/probe_text.h"

#include <algorithm>
#include <optional>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/documents/result_json.h"

namespace trainyard {
namespace {

std::string time_words(double value) { return readable(seconds(value)); }

std::string price_words(const std::optional<double>& price, double measured) {
  return price ? fmt::format("{} {:+.0f} %", time_words(*price), 100 * (*price / measured - 1))
               : "-";
}

// Says of a width that it is a step, and what is dear or free about it.
std::string marks(const WidthProbe& probe, std::size_t at) {
  std::string words;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : "; ") + more; };
  for (const std::size_t s : probe.stairs.steps)
    if (probe.stairs.jumps[s].jump.to == at)
      add(probe.stairs.jumps[s].up ? "step up" : "step down");
  for (const WidthRatio& d : probe.stairs.dear)
    if (d.to == at && d.from > at) add(fmt::format("dearer than {}", probe.widths[d.from].width));
  for (const WidthRatio& f : probe.stairs.free)
    if (f.from == at) add(fmt::format("free up to {}", probe.widths[f.to].width));
  return words;
}

struct ProbedPoint {
  const ProbedWidth* width;
  const Banded<double>* seconds;
};

struct ProbedRatio {
  const WidthProbe* probe;
  const WidthRatio* ratio;
};

Fields<ProbedPoint> point_fields() {
  const auto of = [](auto member) { return in(&ProbedPoint::width, member); };
  return {{"width", of(&ProbedWidth::width), whole(1)},
          {"seconds", [](const ProbedPoint& p) { return *p.seconds; }, band<double>(number()),
           "measured: the median of the rounds and its interval"},
          {"roofline_seconds", of(&ProbedWidth::roofline), number(), "by formula"},
          {"calibrated_seconds", of(&ProbedWidth::calibrated), number(),
           "interpolated between the kernels of the calibration"},
          {"learned_seconds", of(&ProbedWidth::learned), number(),
           "learned from the kernels of the calibration"},
          {"flops", [](const ProbedPoint& p) { return p.width->work.flops.value; }, number()},
          {"bytes",
           [](const ProbedPoint& p) { return (p.width->work.read + p.width->work.written).value; },
           whole(0), "read and written"}};
}

// The two widths of a ratio have the names that its list has for them.
Fields<ProbedRatio> ratio_fields(const char* below, const char* above) {
  const auto width = [](std::size_t WidthRatio::* at) {
    return [at](const ProbedRatio& r) { return r.probe->widths[r.ratio->*at].width; };
  };
  return {{below, width(&WidthRatio::from), whole(1)},
          {above, width(&WidthRatio::to), whole(1)},
          {"ratio", [](const ProbedRatio& r) { return r.ratio->ratio; }, band<double>(number()),
           "time of the second over that of the first, and its interval"}};
}

struct ProbedStep {
  ProbedRatio jump;
  const StairStep* step;
};

Fields<ProbedStep> step_fields() {
  Fields<ProbedStep> fields;
  fields.add(ratio_fields("from", "to"), &ProbedStep::jump);
  fields.add({"roofline_ratio", in(&ProbedStep::step, &StairStep::roofline), number(),
              "the same by formula"});
  fields.add({"direction", [](const ProbedStep& s) { return s.step->up ? "up" : "down"; },
              one_of({"up", "down"})});
  return fields;
}

std::vector<ProbedRatio> ratios_of(const WidthProbe& probe, const std::vector<WidthRatio>& list) {
  std::vector<ProbedRatio> ratios;
  for (const WidthRatio& one : list) ratios.push_back({&probe, &one});
  return ratios;
}

using Size = std::pair<std::string, std::int64_t>;

Fields<WidthProbe> probe_fields() {
  const auto points = [](const WidthProbe& p) {
    std::vector<ProbedPoint> list;
    for (std::size_t i = 0; i < p.widths.size(); ++i)
      list.push_back({&p.widths[i], &p.stairs.seconds[i]});
    return list;
  };
  const auto steps = [](const WidthProbe& p) {
    std::vector<ProbedStep> list;
    for (const std::size_t s : p.stairs.steps)
      list.push_back({{&p, &p.stairs.jumps[s].jump}, &p.stairs.jumps[s]});
    return list;
  };
  const auto tread = [](const WidthProbe& p) {
    const std::int64_t common = common_tread(p.widths, p.stairs);
    return common > 1 ? std::optional(common) : std::nullopt;
  };
  const Form<Size> size =
      object(Fields<Size>{{"name", &Size::first}, {"value", &Size::second, whole(1)}});
  return document_fields<WidthProbe>(
      "trainyard/probe",
      {{"op", &WidthProbe::op},
       {"pass", &WidthProbe::pass},
       {"varied", &WidthProbe::varied, "the size that the widths are of"},
       {"sizes", &WidthProbe::sizes, list_of(size), "the other sizes"},
       {"machine", &WidthProbe::machine},
       {"calibration", &WidthProbe::calibration, kWhereSet, "where its prices were measured"},
       {"rounds", &WidthProbe::rounds, whole(1), "measurements of each width"},
       {"confidence", in(&WidthProbe::rule, &StaircaseRule::confidence), number(),
        "with which the intervals of all neighbours hold together"},
       {"least", in(&WidthProbe::rule, &StaircaseRule::least), number(),
        "a smaller change of time, as a share, counts as none"},
       {"points", points, list_of(object(point_fields()))},
       {"steps", steps, list_of(object(step_fields()))},
       {"common_multiple", tread, whole(2), "past multiples of which all steps up lie"},
       {"free", [](const WidthProbe& p) { return ratios_of(p, p.stairs.free); },
        list_of(object(ratio_fields("from", "to"))), "paddings that cost nothing"},
       {"dear", [](const WidthProbe& p) { return ratios_of(p, p.stairs.dear); },
        list_of(object(ratio_fields("instead", "width"))),
        "widths that are dear for their size, each with a better one"},
       {"sentences", [](const WidthProbe& p) { return probe_sentences(p); }}});
}

}  // namespace

std::string probe_text(const WidthProbe& probe) {
  Out out;
  line(out, "{} over {}, {} rounds on {}", probed_words(probe), probe.varied, probe.rounds,
       probe.machine);
  line(out,
       "measured: median of the rounds and its interval; roofline: by formula{}; more: than the "
       "narrower neighbour takes\n",
       probe.calibration.empty() ? ""
                                 : "; calibrated and learned: by kernels of " + probe.calibration);
  const bool priced = !probe.calibration.empty();
  line(out, "{:>8} {:>10} {:>22} {:>12} {:>18}{} {:>8}", probe.varied, "measured", "interval",
       "attained", "roofline", priced ? fmt::format(" {:>18} {:>18}", "calibrated", "learned") : "",
       "more");
  for (std::size_t i = 0; i < probe.widths.size(); ++i) {
    const ProbedWidth& w = probe.widths[i];
    const Banded<double>& time = probe.stairs.seconds[i];
    const std::string more =
        i == 0 ? "-"
               : fmt::format("{:+.1f} %", 100 * (probe.stairs.jumps[i - 1].jump.ratio.value - 1));
    std::string row = fmt::format(
        "{:>8} {:>10} {:>22} {:>12} {:>18}{} {:>8}  {}", w.width, time_words(time.value),
        time_words(time.low) + " to " + time_words(time.high),
        w.work.flops.value > 0 ? readable(FlopsPerSecond{w.work.flops.value / time.value}) : "-",
        price_words(w.roofline, time.value),
        priced ? fmt::format(" {:>18} {:>18}", price_words(w.calibrated, time.value),
                             price_words(w.learned, time.value))
               : "",
        more, marks(probe, i));
    row.resize(row.find_last_not_of(' ') + 1);
    line(out, "{}", row);
  }
  line(out, "");
  for (const std::string& sentence : probe_sentences(probe)) line(out, "{}", sentence);
  return out;
}

Json probe_schema() { return probe_fields().schema(); }

std::string probe_document(const WidthProbe& probe) {
  return write_json(probe_fields().write(probe));
}

}  // namespace trainyard
