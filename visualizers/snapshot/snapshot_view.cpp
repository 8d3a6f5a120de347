#include "visualizers/snapshot/snapshot_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "visualizers/chart/legend.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr std::size_t kStretch = 1024;  // samples for each of which one peak is kept
constexpr float kSentence = 30, kOwners = 132, kOwnerRow = 16;

// The categories from the bottom of the stack to its top.
constexpr std::pair<Category, Ink> kSnapshotStack[] = {
    {Category::Framework, Ink::MemoryContext},        {Category::Weights, Ink::MemoryWeights},
    {Category::OptimizerState, Ink::MemoryOptimizer}, {Category::Gradients, Ink::MemoryGradients},
    {Category::Activations, Ink::MemoryActivations},  {Category::Recomputed, Ink::Recompute},
    {Category::Communication, Ink::Communication},    {Category::Workspace, Ink::MemoryContext}};

struct SnapshotLayout {
  Rect sentence, wave, ruler, owners;
  Viewport shown;
};

Instant snapshot_end(const SnapshotModel& m) {
  return std::max(Instant{1}, m.measured.samples.back().at);
}

SnapshotLayout layout_of(const SnapshotModel& m, const Rect& area, const ViewState& state) {
  SnapshotLayout l;
  l.sentence = {area.x, area.y, area.width, m.sentence.empty() ? 0 : kSentence};
  l.ruler = {area.x, l.sentence.bottom(), area.width, kRuler};
  const float owners = m.owners.empty() ? 0 : std::min(kOwners, area.height * 0.35f);
  l.owners = {area.x, area.bottom() - owners, area.width, owners};
  l.wave = {area.x, l.ruler.bottom(), area.width, std::max(0.f, l.owners.y - l.ruler.bottom())};
  l.shown = viewport_of(l.wave, state, snapshot_end(m));
  return l;
}

std::size_t sample_at(const MemoryWave& wave, Instant t) {
  const auto after =
      std::upper_bound(wave.samples.begin(), wave.samples.end(), t,
                       [](Instant at, const MemoryWave::Sample& s) { return at < s.at; });
  return after == wave.samples.begin() ? 0
                                       : static_cast<std::size_t>(after - wave.samples.begin()) - 1;
}

// The sample of a column that holds the most bytes in all.
std::size_t highest_sample(const SnapshotModel& m, Instant from, Instant to) {
  const std::vector<MemoryWave::Sample>& samples = m.measured.samples;
  std::size_t best = sample_at(m.measured, from);
  const auto look = [&](std::size_t i) {
    if (total(samples[i].bytes) > total(samples[best].bytes)) best = i;
  };
  for (std::size_t i = best; i < samples.size() && samples[i].at < to;) {
    const std::size_t end = std::min(i + kStretch, samples.size());
    const bool whole = i % kStretch == 0 && samples[end - 1].at < to;
    look(whole ? m.peaks[i / kStretch] : i);
    i = whole ? end : i + 1;
  }
  return best;
}

float height_of(Bytes bytes, std::int64_t most, const Rect& wave) {
  return (wave.height - 14) *
         static_cast<float>(static_cast<double>(bytes.value) / static_cast<double>(most));
}

void draw_wave(Drawing& drawing, const SnapshotLayout& l, const SnapshotModel& m) {
  const Viewport& v = l.shown;
  const auto count = static_cast<std::size_t>(std::clamp(v.plot.width, 1.f, 8192.f));
  const std::int64_t most = m.highest.value;
  std::vector<std::size_t> peaks;
  for (std::size_t i = 0; i < count; ++i) {
    const auto edge = [&](std::size_t n) {
      return time_at(v, double{v.plot.x} + double{v.plot.width} * static_cast<double>(n) /
                                               static_cast<double>(count));
    };
    peaks.push_back(highest_sample(m, edge(i), edge(i + 1)));
  }
  const Rect plot{v.plot.x, l.wave.y, v.plot.width, l.wave.height};
  std::vector<float> below(count, l.wave.bottom());
  for (const auto& [category, ink] : kSnapshotStack) {
    std::vector<Column> filled;
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes bytes = m.measured.samples[peaks[i]].bytes[static_cast<std::size_t>(category)];
      const float top = below[i] - height_of(bytes, most, l.wave);
      filled.push_back({top, below[i]});
      any = any || bytes.value > 0;
      below[i] = top;
    }
    if (any) columns(drawing, plot, filled, {.ink = ink, .item = {ItemKind::Wave, 0}});
  }
  std::vector<Point> line_of_reserved;
  for (std::size_t i = 0; i < count; ++i)
    line_of_reserved.push_back(
        {plot.x + plot.width * static_cast<float>(i) / static_cast<float>(count),
         l.wave.bottom() - height_of(m.reserved[peaks[i]], most, l.wave)});
  if (line_of_reserved.size() > 1)
    polyline(drawing, line_of_reserved, {.ink = Ink::Text2, .dash_on = 4, .dash_off = 2});
}

// Draws the steps of the plan as long as the recorded ones. If they are narrower than columns, only
// their peak is drawn.
void draw_planned(Drawing& drawing, const SnapshotLayout& l, const SnapshotModel& m) {
  if (!m.planned || m.planned->samples.empty()) return;
  const std::int64_t most = m.highest.value;
  const auto step =
      static_cast<double>(std::max<std::int64_t>(1, m.planned->samples.back().at.count()));
  const double stretch =
      static_cast<double>(snapshot_end(m).count()) / (step * static_cast<double>(m.steps));
  const bool narrow = (l.shown.to - l.shown.from).count() > stretch * step * l.shown.plot.width / 2;
  const auto count = static_cast<std::size_t>(std::clamp(l.shown.plot.width, 2.f, 8192.f));
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i) {
    const float x =
        l.shown.plot.x + l.shown.plot.width * static_cast<float>(i) / static_cast<float>(count - 1);
    const auto t = static_cast<double>(time_at(l.shown, x).count()) / stretch;
    const Instant at{static_cast<std::int64_t>(std::fmod(std::clamp(t, 0.0, 9e18), step))};
    const std::size_t sample = narrow ? m.planned->peak : sample_at(*m.planned, at);
    const Bytes held = total(m.planned->samples[sample].bytes);
    points.push_back({x, l.wave.bottom() - height_of(held, most, l.wave)});
  }
  polyline(drawing, points, {.ink = Ink::Ghost, .stroke = 1.5f});
}

void draw_divergence(Drawing& drawing, const SnapshotLayout& l, const SnapshotModel& m) {
  if (!m.divergence) return;
  const float x = extent(l.shown, *m.divergence, *m.divergence).left;
  if (x < l.shown.plot.x || x > l.shown.plot.right()) return;
  line(drawing, {x, l.wave.y}, {x, l.wave.bottom()},
       {.ink = Ink::Error, .stroke = 1.5f, .item = {ItemKind::Ruler, 0}});
  const std::string words =
      "leaves the plan" + (m.divergence_owner.empty() ? "" : ": " + m.divergence_owner);
  const float room = l.shown.plot.right() - x;
  const bool right = text_width(words, 10) + 10 < room;
  write(drawing, words, {right ? x + 5 : x - 5, l.wave.y + 8}, 10, Weight::SemiBold, Ink::Error,
        right ? Align::Left : Align::Right);
}

void draw_readings(Drawing& drawing, const SnapshotLayout& l, const SnapshotModel& m) {
  const Rect& area = l.wave;
  float y = area.y + 12;
  const Bytes peak = peak_of(m.measured);
  write(drawing, "Measured", {area.x + 10, y}, 11, Weight::SemiBold, Ink::Text);
  write(drawing, "peak " + format_bytes(peak), {area.x + 10, y += 14}, 10, Weight::Medium,
        Ink::Text2);
  write(drawing, "reserved " + format_bytes(m.reserved[m.most_reserved]), {area.x + 10, y += 14},
        10, Weight::Regular, Ink::Text2);
  if (m.planned && !m.planned->samples.empty()) {
    write(drawing, "Planned", {area.x + 10, y += 20}, 11, Weight::SemiBold, Ink::Ghost);
    write(drawing, "peak " + format_bytes(peak_of(*m.planned)), {area.x + 10, y += 14}, 10,
          Weight::Medium, Ink::Text2);
  }
  std::vector<LegendEntry> entries;
  for (const auto& [category, ink] : kSnapshotStack) {
    if (m.most[static_cast<std::size_t>(category)].value == 0) continue;
    std::string name(to_string(category));
    std::replace(name.begin(), name.end(), '_', ' ');
    entries.push_back({name, box_sign(ink)});
  }
  draw_legend_below(drawing, {area.x + 14.5f, y + 20}, entries, area.bottom() - 6);
}

void draw_owners(Drawing& drawing, const SnapshotLayout& l, const SnapshotModel& m) {
  if (l.owners.height < kOwnerRow * 2) return;
  const Rect& area = l.owners;
  line(drawing, {area.x, area.y}, {area.right(), area.y}, {.ink = Ink::Border});
  write(drawing, "Alive at the peak", {area.x + 10, area.y + 11}, 11, Weight::SemiBold, Ink::Text);
  const Bytes peak = peak_of(m.measured);
  float y = area.y + 20;
  for (std::size_t i = 0; i < m.owners.size() && y + kOwnerRow <= area.bottom(); ++i) {
    const SnapshotModel::Owner& owner = m.owners[i];
    const Rect plot = l.shown.plot;
    const double share = peak.value > 0 ? owner.bytes / peak : 0;
    const auto found = std::find_if(std::begin(kSnapshotStack), std::end(kSnapshotStack),
                                    [&](const auto& pair) { return pair.first == owner.category; });
    fill(drawing,
         {plot.x, y + 2, 160 * static_cast<float>(std::clamp(share, 0.0, 1.0)), kOwnerRow - 4},
         {.ink = found->second, .item = {ItemKind::Legend, i}});
    write(drawing, format_bytes(owner.bytes), {plot.x - 8, y + kOwnerRow / 2}, 10, Weight::Medium,
          Ink::Text, Align::Right);
    write(drawing, fit_text(owner.name, plot.width - 180, 10), {plot.x + 170, y + kOwnerRow / 2},
          10, Weight::Regular, Ink::Text2);
    y += kOwnerRow;
  }
}

}  // namespace

void finish_snapshot(SnapshotModel& m) {
  m.peaks.clear();
  m.highest = {1};
  for (std::size_t i = 0; i < m.measured.samples.size(); ++i) {
    const CategoryBytes& bytes = m.measured.samples[i].bytes;
    for (std::size_t c = 0; c < kCategories; ++c) m.most[c] = std::max(m.most[c], bytes[c]);
    if (m.reserved[i] > m.reserved[m.most_reserved]) m.most_reserved = i;
    if (i % kStretch == 0) m.peaks.push_back(i);
    if (total(bytes) > total(m.measured.samples[m.peaks.back()].bytes)) m.peaks.back() = i;
  }
  m.highest = std::max({m.highest, m.reserved[m.most_reserved], peak_of(m.measured)});
  if (m.planned && !m.planned->samples.empty())
    m.highest = std::max(m.highest, peak_of(*m.planned));
}

void draw_snapshot(Drawing& drawing, const Rect& area, const SnapshotModel& m,
                   const ViewState& state) {
  const SnapshotLayout l = layout_of(m, area, state);
  if (!m.sentence.empty())
    write_within(drawing, m.sentence, {area.x + 10, l.sentence.y + kSentence / 2}, area.width - 20,
                 11.5f, Weight::SemiBold, Ink::Text);
  if (m.timed)
    draw_ruler(drawing, l.ruler, l.shown, state, snapshot_end(m));
  else
    write(drawing, format_count(snapshot_end(m).count()) + " events, without times",
          {l.shown.plot.x, l.ruler.y + 8}, 10, Weight::Regular, Ink::Text2);
  {
    const ClipScope clip(drawing, l.wave);
    draw_readings(drawing, l, m);
    const ClipScope plot(drawing, {l.shown.plot.x, l.wave.y, l.shown.plot.width, l.wave.height});
    draw_wave(drawing, l, m);
    draw_planned(drawing, l, m);
    draw_divergence(drawing, l, m);
    const float x = extent(l.shown, m.measured.samples[m.measured.peak].at,
                           m.measured.samples[m.measured.peak].at)
                        .left;
    peak_marker(drawing,
                {x, l.wave.bottom() - height_of(peak_of(m.measured), m.highest.value, l.wave)},
                {.ink = Ink::Text, .item = {ItemKind::Peak, 0}});
  }
  draw_owners(drawing, l, m);
  draw_time_marks(drawing, l.wave, l.shown, state);
}

Hover describe_snapshot(const SnapshotModel& m, const Rect& area, const ViewState& state, Item item,
                        Point at) {
  Hover hover;
  if (item.kind == ItemKind::Legend && item.tag < m.owners.size()) {
    hover.title = m.owners[item.tag].name;
    hover.where = std::string(to_string(m.owners[item.tag].category));
    hover.value = format_bytes(m.owners[item.tag].bytes);
    return hover;
  }
  if (item.kind == ItemKind::Ruler) {
    hover.title = "Leaves the plan";
    hover.where = m.divergence_owner;
    hover.lines.push_back(m.sentence);
    return hover;
  }
  if (item.kind != ItemKind::Wave && item.kind != ItemKind::Peak) return hover;
  const SnapshotLayout l = layout_of(m, area, state);
  const std::size_t i =
      item.kind == ItemKind::Peak ? m.measured.peak : sample_at(m.measured, time_at(l.shown, at.x));
  const CategoryBytes& bytes = m.measured.samples[i].bytes;
  hover.title = "Memory, measured";
  hover.where = m.timed ? instant_text(m.measured.samples[i].at, snapshot_end(m))
                        : "event " + std::to_string(m.measured.samples[i].at.count());
  hover.value = format_bytes(total(bytes));
  hover.lines.push_back("reserved " + format_bytes(m.reserved[i]));
  for (std::size_t c = 0; c < kCategories; ++c) {
    if (bytes[c].value == 0) continue;
    std::string name(to_string(static_cast<Category>(c)));
    std::replace(name.begin(), name.end(), '_', ' ');
    hover.lines.push_back(name + " " + format_bytes(bytes[c]));
  }
  return hover;
}

Drawing snapshot_picture(const SnapshotModel& m) {
  Drawing drawing({1280, 560});
  ViewState state;
  state.scale = 2;
  draw_snapshot(drawing, {0, 0, drawing.size.width, drawing.size.height}, m, state);
  return drawing;
}

std::string spell_snapshot(const SnapshotModel& m) {
  return "Memory snapshot, peak " + spell_bytes(peak_of(m.measured)) + ". " + m.sentence;
}

}  // namespace trainyard
