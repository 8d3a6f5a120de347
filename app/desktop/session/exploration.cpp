#include "app/desktop/session/exploration.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/timeline/buffer_lives.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/memory_stack.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/timeline/timeline_walk.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

Exploration::Exploration(Document& document, Session& session, QObject* parent)
    : QObject(parent), document_(document), session_(session) {
  connect(&session_, &Session::experiment_changed, this, &Exploration::start_over);
  for (const auto signal : {&Document::changed, &Document::view_changed, &Document::marks_changed})
    connect(&document_, signal, this, &Exploration::refresh_marks);
}

// Another run has other spans: hits and pins are searched again or dropped.
void Exploration::start_over() {
  const bool same =
      of_ && session_.experiment() && of_->timeline.spans == session_.experiment()->timeline.spans;
  of_ = session_.experiment();
  if (!same) {
    pinned_.reset();
    session_.look([](ViewState& state) { state.lives.reset(), state.stack.reset(); });
    history_.reset(here());
    Q_EMIT pin_changed();
  }
  search(words_);
  refresh_marks();
  refresh_stack();
}

ViewPlace Exploration::here() const {
  return {session_.state().shown, session_.state().range, words_.toStdString()};
}

InstructionId Exploration::selected() const {
  const Item item = session_.state().selected;
  const bool span = item.kind == ItemKind::Span || item.kind == ItemKind::Fold;
  const bool there =
      span && of_ && item.tag < static_cast<std::uint64_t>(of_->timeline.spans.size());
  return there ? InstructionId{static_cast<std::uint32_t>(item.tag)} : InstructionId{};
}

void Exploration::search(const QString& words) {
  words_ = words.trimmed();
  problem_.clear();
  std::shared_ptr<const SpanHits> found;
  if (!words_.isEmpty() && session_.data() != nullptr) {
    try {
      const SpanQuery query = parse_span_query(words_.toStdString());
      found = std::make_shared<const SpanHits>(
          find_spans(session_.data()->get<TimelineModel>(), query));
    } catch (const Error& error) {
      problem_ = QString::fromStdString(describe(error));
    }
  }
  if (found || session_.state().hits)
    session_.look([&](ViewState& state) { state.hits = std::move(found); });
  Q_EMIT search_changed();
}

std::size_t Exploration::hits() const {
  return session_.state().hits ? session_.state().hits->spans.size() : 0;
}

std::size_t Exploration::hit() const {
  const InstructionId id = selected();
  if (!id.valid() || hits() == 0) return 0;
  const std::vector<InstructionId>& spans = session_.state().hits->spans;
  // The first hit at or after the span is the span itself if it is a hit.
  const auto next =
      next_hit(session_.data()->get<TimelineModel>(), *session_.state().hits, id, {}, -1);
  const std::size_t place = next ? (*next + 1) % spans.size() : 0;
  return spans[place] == id ? place + 1 : 0;
}

void Exploration::step_hit(int by) {
  if (session_.data() == nullptr || !session_.state().hits) return;
  const SpanHits& found = *session_.state().hits;
  const Instant at = session_.state().cursor.value_or(session_.shown().from);
  if (const auto place = next_hit(session_.data()->get<TimelineModel>(), found, selected(), at, by))
    select_span(found.spans[*place]);
  Q_EMIT search_changed();
}

QString Exploration::go_to(const QString& instant) {
  if (session_.data() == nullptr) return "Nothing has been simulated yet.";
  const Duration end = session_.end();
  const std::string text = instant.trimmed().toStdString();
  try {
    Instant at{};
    if (!text.empty() && text.back() == '%') {
      const double percent = parse_number(text.substr(0, text.size() - 1), {text});
      if (!(percent >= 0 && percent <= 100))
        throw Error(Error::Kind::InvalidInput, "expected 0 to 100 % of the run", {text});
      at = Instant{static_cast<std::int64_t>(percent / 100 * static_cast<double>(end.count()))};
    } else {
      at = parse_duration(text, {text});
    }
    if (at > end)
      throw Error(Error::Kind::InvalidInput,
                  "expected an instant within the run, which ends at " + format_step_time(end),
                  {text});
    const Duration half = (session_.shown().to - session_.shown().from) / 2;
    const Viewport view =
        fit({{0, 0, 1, 1}, {}, {}}, at - half, at + half, {.first = Instant{}, .last = end});
    session_.show(TimeRange{view.from, view.to});
    session_.set_cursor(at);
    rest();
    record(false);
    return {};
  } catch (const Error& error) {
    return QString::fromStdString(describe(error));
  }
}

void Exploration::record(bool continues) { history_.visit(here(), continues); }

void Exploration::go(const ViewPlace& place) {
  session_.show(place.shown);
  session_.set_range(place.range);
  const QString words = QString::fromStdString(place.search);
  if (words != words_) search(words);
}

void Exploration::back() {
  if (const auto place = history_.back()) go(*place);
}

void Exploration::forward() {
  if (const auto place = history_.forward()) go(*place);
}

void Exploration::bring_into_sight(Instant from, Instant to) {
  const TimeRange shown = session_.shown();
  if (from >= shown.from && to <= shown.to) return;
  const Duration length = std::max(shown.length(), (to - from) + (to - from) / 2);
  const Instant middle = from + (to - from) / 2;
  const Viewport view = fit({{0, 0, 1, 1}, {}, {}}, middle - length / 2, middle + length / 2,
                            {.first = Instant{}, .last = session_.end()});
  session_.show(TimeRange{view.from, view.to});
}

void Exploration::select_span(InstructionId id) {
  if (!id.valid()) return;
  const Span span = session_.experiment()->timeline.spans[id.value];
  bring_into_sight(span.start, span.end);
  session_.select({ItemKind::Span, id.value});
  record(true);
}

void Exploration::walk_name(int by) {
  if (selected().valid())
    select_span(same_name(session_.data()->get<TimelineModel>(), selected(), by));
}

void Exploration::walk_device(int by) {
  if (selected().valid())
    select_span(on_device(session_.data()->get<TimelineModel>(), selected(), by));
}

void Exploration::walk_path(int by) {
  if (session_.data() == nullptr) return;
  set_critical_path(true);
  select_span(along_path(session_.data()->get<TimelineModel>(), selected(),
                         session_.state().cursor.value_or(session_.shown().from), by));
}

void Exploration::next_peak() {
  if (session_.data() == nullptr) return;
  const MemoryModel& memory = session_.data()->get<MemoryModel>();
  const DeviceId device = session_.state().expanded.value_or(memory.worst);
  // The walk continues from the peak that was visited last.
  const bool on_it = pinned_ && pinned_->device == device && session_.state().expanded;
  const auto peak = trainyard::next_peak(
      memory, device, on_it ? std::optional<Instant>(pinned_->at) : std::nullopt);
  if (!peak) return;
  const Instant at{memory.totals[peak->device.value].at[peak->sample]};
  session_.expand(peak->device);
  bring_into_sight(at, at);
  session_.set_cursor(at);
  pin(peak->device, at);
  record(true);
}

// Continues after the range of the last bubble or, before the first, after the cursor.
void Exploration::next_bubble() {
  if (session_.data() == nullptr) return;
  const Instant after = session_.state().range ? session_.state().range->to : Instant{};
  const auto bubble =
      bubble_after(session_.data()->get<TimelineModel>(), session_.selected_rank(), after);
  if (!bubble) return;
  bring_into_sight(bubble->from, bubble->to);
  session_.set_range(*bubble);
  record(true);
}

std::optional<ProjectMark> Exploration::place_to_mark() const {
  if (document_.plan() == nullptr || session_.data() == nullptr) return {};
  TimeRange place;
  if (const auto range = session_.state().range)
    place = *range;
  else if (const auto cursor = session_.state().cursor)
    place = {*cursor, *cursor};
  else if (selected().valid())
    place.from = place.to = of_->timeline.spans[selected().value].start;
  else
    return {};
  const auto ns = [&](Instant t) {
    return std::clamp<std::int64_t>(t.count(), 0, session_.end().count());
  };
  return ProjectMark{ns(place.from), ns(place.to), ""};
}

void Exploration::toggle_mark(const QString& name) {
  std::optional<ProjectMark> mark = place_to_mark();
  if (!mark) return;
  mark->name = name.trimmed().toStdString();
  Project after = document_.project();
  std::vector<ProjectMark>& marks = after.plans[static_cast<std::size_t>(after.current)].marks;
  const auto same = std::find_if(marks.begin(), marks.end(), [&](const ProjectMark& other) {
    return other.from == mark->from && other.to == mark->to;
  });
  const bool there = same != marks.end();
  if (there && mark->name.empty())
    marks.erase(same);
  else if (there)
    same->name = mark->name;
  else
    marks.push_back(*mark);
  std::stable_sort(marks.begin(), marks.end(), [](const ProjectMark& a, const ProjectMark& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  document_.change(there && mark->name.empty() ? "Remove mark" : "Mark", std::move(after));
}

void Exploration::go_to_mark(std::size_t mark) {
  if (mark >= session_.state().marks.size()) return;
  const TimeMark& place = session_.state().marks[mark];
  go_to_place(place.from, place.to);
}

void Exploration::go_to_place(Instant from, Instant to) {
  bring_into_sight(from, to);
  if (to > from)
    session_.set_range(TimeRange{from, to});
  else
    session_.set_range({}), session_.set_cursor(from);
}

// Collects the marks of the open plan that lie within its run.
void Exploration::refresh_marks() {
  std::vector<TimeMark> marks;
  if (const ProjectPlan* plan = document_.plan())
    for (const ProjectMark& mark : plan->marks)
      if (Instant{mark.from} <= session_.end())
        marks.push_back({Instant{mark.from}, Instant{mark.to}, mark.name});
  if (marks == session_.state().marks) return;
  session_.look([&](ViewState& state) { state.marks = std::move(marks); });
}

void Exploration::refresh_stack() {
  const ViewState& state = session_.state();
  if (session_.data() == nullptr || state.stack_by == StackBy::Category) return;
  const MemoryModel& memory = session_.data()->get<MemoryModel>();
  const bool chosen = state.expanded && state.expanded->value < memory.totals.size();
  auto stack = stack_of(*session_.experiment(), chosen ? *state.expanded : memory.worst, state);
  session_.look([&](ViewState& changed) { changed.stack = std::move(stack); });
}

void Exploration::stack_by(StackBy by) {
  session_.look([&](ViewState& state) { state.stack_by = by, state.stack.reset(); });
  refresh_stack();
  Q_EMIT switches_changed();
}

void Exploration::set_by_phase(bool on) {
  session_.look([&](ViewState& state) { state.by_phase = on; });
  Q_EMIT switches_changed();
}

void Exploration::set_every_rank(bool on) {
  session_.look([&](ViewState& state) { state.every_rank = on; });
  Q_EMIT switches_changed();
}

void Exploration::set_critical_path(bool on) {
  if (session_.state().critical_path == on) return;
  session_.look([&](ViewState& state) { state.critical_path = on; });
  Q_EMIT switches_changed();
}

void Exploration::pin(DeviceId device, Instant at) {
  pinned_ = Pinned{device, at};
  refresh_stack();
  Q_EMIT pin_changed();
}

void Exploration::unpin() {
  pinned_.reset();
  session_.look([](ViewState& state) { state.lives.reset(); });
  Q_EMIT pin_changed();
}

void Exploration::show_lives(BufferId buffer) {
  if (!of_ || buffer.value >= of_->program.buffers.size()) return;
  const Buffer& held = of_->program.buffers[buffer.value];
  ShownLives shown{held.device, std::string(of_->program.name(held.name)), {}};
  TimeRange first{};
  for (const BufferLife& life : lives_of(of_->timeline, of_->program, buffer)) {
    const bool here = pinned_ && life.alive(pinned_->at);
    if (shown.lives.empty() || here) first = {life.from, life.to};
    shown.lives.push_back({life.from, life.to});
  }
  if (shown.lives.empty()) return;
  session_.look([&](ViewState& state) { state.lives = std::move(shown); });
  bring_into_sight(first.from, first.to);
  record(false);
}

}  // namespace trainyard
