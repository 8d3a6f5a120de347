#include "app/cli/text/plans/tables_text.h"

#include "app/cli/text/lines.h"
#include "app/workspace/plans/table_trains.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostTables = 30;  // rows of a terminal; a document has all
constexpr const char* kNothing = "-";

std::string share_or(const std::optional<double>& share) {
  return share ? readable_share(*share) : kNothing;
}

void write_ranks(Out& out, const TableStudy& s) {
  line(out, "  {:>8} {:>12} {:>10} {:>14} {:>14} {:>10} {:>12}", "rank", "numbers", "smaller",
       "forward", "backward", "step", "peak");
  for (const TablesAtRank& at : s.ranks)
    line(out, "  {:>8} {:>12} {:>9.4g}x {:>14} {:>14} {:>10} {:>12}",
         at.rank == 0 ? "as rows" : std::to_string(at.rank), readable(at.bytes), at.times,
         readable(Flops{at.forward_flops}), readable(Flops{at.backward_flops}),
         at.priced ? readable_step(at.priced->step) : kNothing,
         at.priced ? readable(at.priced->peak) : kNothing);
  line(out,
       "  forward, backward: of one look-up in each table; step, peak: of the plan, by the "
       "closed form");
}

void write_tables(Out& out, const TableStudy& s) {
  line(out, "\n  {:<20} {:>12} {:>6} {:>12} {:>20} {:>12} {:>12}", "table", "rows", "width",
       "as rows", "cores", "ranks", "smaller");
  for (std::size_t i = 0; i < std::min(s.tables.size(), kMostTables); ++i) {
    const StudiedTable& table = s.tables[i];
    std::string cores = "stays", ranks = kNothing, smaller = kNothing;
    if (table.train) {
      const CoreDigits &p = table.train->row_bases, &q = table.train->column_bases;
      cores = fmt::format("{}x{} {}x{} {}x{}", p[0], q[0], p[1], q[1], p[2], q[2]);
      ranks = fmt::format("{}, {}", table.train->first_rank, table.train->second_rank);
      smaller = fmt::format("{:.4g}x", static_cast<double>(table.rows) *
                                           static_cast<double>(table.width) /
                                           static_cast<double>(table.train->weights()));
    }
    line(out, "  {:<20} {:>12} {:>6} {:>12} {:>20} {:>12} {:>12}", table.name, table.rows,
         table.width, readable(table.bytes), cores, ranks, smaller);
  }
  if (s.tables.size() > kMostTables)
    line(out, "  and {} smaller ones, which --json lists too", s.tables.size() - kMostTables);
}

void write_caches(Out& out, const TableStudy& s) {
  if (s.caches.empty()) return;
  line(out, "\nlook-ups that hot rows serve, by Zipf's law of {:g}{}", s.zipf,
       s.counted > 0 ? fmt::format(" and counted in {} look-ups: {}", s.counted, s.data) : "");
  line(out, "  {:>12} {:>10} {:>10} {:>10} {:>10}", "hot rows", "hits", "counted", "spared",
       "counted");
  for (const CachedRows& at : s.caches)
    line(out, "  {:>12} {:>10} {:>10} {:>10} {:>10}", at.rows, readable_share(at.hits),
         share_or(at.counted_hits), readable_share(at.spared), share_or(at.counted_spared));
  line(out,
       "  hits: of look-ups, for the rows of each table that are most frequent of all; counted in "
       "the\n  later half of look-ups, of rows most frequent in the first; spared: of rows that a "
       "microbatch of\n  {} makes, for those that it looks up most often, as tt-cache has it",
       s.micro_batch);
}

}  // namespace

std::string tables_text(const TableStudy& s) {
  Out out;
  write_ranks(out, s);
  write_tables(out, s);
  write_caches(out, s);
  line(out, "");
  for (const std::string& sentence : table_study_sentences(s)) line(out, "{}", sentence);
  return out;
}

}  // namespace trainyard
