#include "app/cli/text/runs/profile_text.h"

#include <vector>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/json/fields.h"
#include "visualizers/profile/profile_view.h"

namespace trainyard {
namespace {

constexpr std::size_t kNamesOfLevel = 4;

// The time that the records of one level took.
struct LevelRecords {
  SpanLevel level = SpanLevel::Annotation;
  std::int64_t count = 0;
  Duration added{};
  double nanoseconds = 0;
};

std::vector<LevelRecords> level_records(const ProfileStudy& study) {
  std::vector<LevelRecords> rows;
  for (const SpanLevel level : kEverySpanLevel) {
    const auto l = static_cast<std::size_t>(level);
    if (study.spans.counts[l] == 0) continue;
    rows.push_back(
        {level, study.spans.counts[l], study.spans.added_by(level),
         static_cast<double>(study.spans.overheads.each[l].value_or(Picoseconds{}).count()) /
             1000});
  }
  return rows;
}

Fields<ProfileStudy> profile_study_fields() {
  const auto of = [](auto member) { return in(&ProfileStudy::spans, member); };
  const Fields<LevelRecords> records = {
      {"level", [](const LevelRecords& r) { return to_string(r.level); }},
      {"count", &LevelRecords::count, whole(1), "spans of one run"},
      {"nanoseconds", &LevelRecords::nanoseconds, number(), "that one of them adds"},
      {"added_seconds", &LevelRecords::added, "by all of them"}};
  const Fields<ProfileRow> rows = {
      {"annotations", &ProfileRow::annotations, "from the outermost; empty: outside of all"},
      {"level", [](const ProfileRow& r) { return profile_level_words(r.level); },
       "of the innermost span; outside: in none"},
      {"kernel_runs", &ProfileRow::busy, "on any thread"},
      {"recorded_seconds", &ProfileRow::raw},
      {"corrected_seconds", &ProfileRow::corrected}};
  const Fields<NamedSpans> names = {
      {"level", [](const NamedSpans& n) { return to_string(n.level); }},
      {"name", &NamedSpans::name},
      {"count", &NamedSpans::count, whole(1)},
      {"seconds", &NamedSpans::whole, "corrected"},
      {"own_seconds", &NamedSpans::own, "corrected, outside of spans within"}};
  const Fields<DeviceUse> use = {
      {"busy_share", [](const DeviceUse& u) { return u.busy_share(); },
       "of the corrected time, in which a kernel runs on any thread"},
      {"window_seconds", &DeviceUse::window, "between two samples"},
      {"windows", &DeviceUse::windows, whole()},
      {"occupied_windows", &DeviceUse::occupied, whole(), "in which any kernel ran"},
      {"sampled_share", [](const DeviceUse& u) { return u.sampled_share(); }},
      {"inflation", [](const DeviceUse& u) { return u.inflation(); },
       "sampled share over busy share"}};
  return document_fields<ProfileStudy>(
      "trainyard/span-profile",
      {{"work", &ProfileStudy::work},
       {"rounds", [](const ProfileStudy& s) { return s.spans.options.rounds; }, whole(1)},
       {"threads",
        [](const ProfileStudy& s) {
          return static_cast<std::int64_t>(s.spans.recorded.threads.size());
        },
        whole(1)},
       {"bare_seconds", of(&SpanProfile::bare), "median of runs without records"},
       {"recorded_seconds", [](const ProfileStudy& s) { return s.spans.raw_time(); },
        "of the run with the median time"},
       {"corrected_seconds", [](const ProfileStudy& s) { return s.spans.corrected_time(); }},
       {"records", level_records, list_of(object(records))},
       {"passing_seconds", [](const ProfileStudy& s) { return s.spans.passing(); },
        "spent on passing places where something is recorded or might be"},
       {"times", [](const ProfileStudy& s) { return profile_rows(s.spans); }, list_of(object(rows)),
        "exclusive; they add up to the time of all threads"},
       {"spans", [](const ProfileStudy& s) { return spans_by_name(s.spans.corrected); },
        list_of(object(names))},
       {"use", &ProfileStudy::use, object(use), "where kernels are recorded"},
       {"episode_lengths", &ProfileStudy::episode_lengths, list_of(number()), kWhereSet,
        "mean before each update, of a learner"}});
}

std::string share_text(Duration part, Duration all) {
  return all > Duration{} ? readable_share(to_seconds(part) / to_seconds(all)) : "";
}

}  // namespace

std::string profile_text(const ProfileStudy& study) {
  const SpanProfile& spans = study.spans;
  Out out;
  line(out, "{}, median of {} rounds\n", study.work, spans.options.rounds);
  line(out, "  {:<26} {:>12}\n  {:<26} {:>12}\n  {:<26} {:>12}", "without records",
       readable(spans.bare), "recorded", readable(spans.raw_time()), "corrected",
       readable(spans.corrected_time()));
  line(out, "\n  {:<26} {:>12} {:>12} {:>12}", "records of level", "count", "each", "together");
  for (const LevelRecords& row : level_records(study))
    line(out, "  {:<26} {:>12} {:>9.1f} ns {:>12}", to_string(row.level), row.count,
         row.nanoseconds, readable(row.added));
  line(out, "  {:<26} {:>12} {:>12} {:>12}", "being recordable", "", "", readable(spans.passing()));
  const auto threads = static_cast<std::int64_t>(spans.recorded.threads.size());
  const bool several = threads > 1;
  line(out, "\n  {:<26} {:<12} {:>12} {:>12} {:>9}{}", "annotation", "innermost", "recorded",
       "corrected", "share", several ? "  a kernel runs" : "");
  Duration raw{}, corrected{};
  for (const ProfileRow& row : profile_rows(spans)) {
    raw += row.raw, corrected += row.corrected;
    line(out, "  {:<26} {:<12} {:>12} {:>12} {:>9}{}",
         row.annotations.empty() ? "outside" : row.annotations, profile_level_words(row.level),
         readable(row.raw), readable(row.corrected),
         share_text(row.corrected, spans.corrected_time() * threads),
         several ? (row.busy ? "  yes" : "  no") : "");
  }
  line(out, "  {:<26} {:<12} {:>12} {:>12}", several ? "all threads" : "sum", "", readable(raw),
       readable(corrected));
  line(out, "\n  {:<26} {:<12} {:>12} {:>12} {:>9}", "longest own time", "level", "count",
       "corrected", "share");
  std::size_t listed = 0;
  SpanLevel level = SpanLevel::Annotation;
  for (const NamedSpans& row : spans_by_name(spans.corrected)) {
    if (row.level != level) level = row.level, listed = 0;
    if (row.level == SpanLevel::Annotation || ++listed > kNamesOfLevel) continue;
    line(out, "  {:<26} {:<12} {:>12} {:>12} {:>9}", row.name.substr(0, 26), to_string(row.level),
         row.count, readable(row.own), share_text(row.own, spans.corrected_time() * threads));
  }
  line(out, "");
  for (const std::string& sentence : profile_sentences(study)) line(out, "{}", sentence);
  return out;
}

Json span_profile_schema() { return profile_study_fields().schema(); }

std::string profile_document(const ProfileStudy& study) {
  return write_json(profile_study_fields().write(study));
}

}  // namespace trainyard
