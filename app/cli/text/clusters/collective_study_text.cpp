#include "app/cli/text/clusters/collective_study_text.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/documents/result_json.h"

namespace trainyard {
namespace {

double ratio_of(Duration priced, Duration measured) {
  return to_seconds(priced) / to_seconds(measured);
}

std::string link_words(const LinkCost& link) {
  return fmt::format("{:>9} {:>12}", readable(seconds(link.alpha)),
                     link.beta > 0 ? readable(BytesPerSecond{1 / link.beta}) : "-");
}

struct SizeChoice {
  Bytes bytes;
  CollectiveAlgorithm priced, measured;
  double lost;  // of the time of the fastest
};

std::vector<SizeChoice> choices_of(const CollectiveStudy& study) {
  std::vector<SizeChoice> list;
  for (const LinkAtSize& link : study.links) {
    const CollectiveTiming &by_price = fastest_priced(study, link.bytes),
                           &fastest = fastest_measured(study, link.bytes);
    list.push_back({link.bytes, by_price.algorithm, fastest.algorithm,
                    ratio_of(by_price.measured, fastest.measured) - 1});
  }
  return list;
}

Fields<LinkCost> link_cost_fields() {
  return {{"alpha_seconds", &LinkCost::alpha, number(), "of a message"},
          {"beta_seconds_per_byte", &LinkCost::beta, number()},
          {"gamma_seconds_per_byte", &LinkCost::gamma, number(), "of a byte that is added"}};
}

Fields<LinkAtSize> link_at_size_fields() {
  return {{"bytes", &LinkAtSize::bytes, whole(1)},
          {"busy", &LinkAtSize::busy, object(link_cost_fields()),
           "fitted on messages of bytes / ranks to bytes that all ranks exchange at once"},
          {"alone", &LinkAtSize::alone, object(link_cost_fields()),
           "fitted on a ping-pong of two ranks"}};
}

Fields<CollectiveTiming> timing_fields() {
  return {{"algorithm", [](const CollectiveTiming& t) { return to_string(t.algorithm); }, text()},
          {"bytes", &CollectiveTiming::bytes, whole(1), "of the whole vector"},
          {"measured_seconds", &CollectiveTiming::measured, "the fastest of several"},
          {"priced_seconds", &CollectiveTiming::priced},
          {"priced_alone_seconds", &CollectiveTiming::priced_alone, "with the link of a ping-pong"},
          {"ratio", [](const CollectiveTiming& t) { return ratio_of(t.priced, t.measured); },
           number(), "priced over measured"}};
}

Fields<SizeChoice> choice_fields() {
  return {{"bytes", &SizeChoice::bytes, whole(1)},
          {"priced", [](const SizeChoice& c) { return to_string(c.priced); }, text(),
           "the fastest algorithm by price"},
          {"measured", [](const SizeChoice& c) { return to_string(c.measured); }, text(),
           "the fastest as measured"},
          {"lost", &SizeChoice::lost, number(),
           "how much longer the algorithm chosen by price took, as a share of the fastest"}};
}

Fields<CollectiveStudy> collective_study_fields() {
  return document_fields<CollectiveStudy>(
      "trainyard/collectives",
      {{"ranks", &CollectiveStudy::ranks, whole(2)},
       {"ranks_on_this_machine", &CollectiveStudy::on_this_machine, whole(1)},
       {"cores", &CollectiveStudy::cores, whole(1), "of this machine"},
       {"sum_error", &CollectiveStudy::sum_error, number(),
        "the largest difference of any element of any sum from the exact one, as a share of it"},
       {"links", &CollectiveStudy::links, list_of(object(link_at_size_fields()))},
       {"rows", &CollectiveStudy::rows, list_of(object(timing_fields()))},
       {"choices", choices_of, list_of(object(choice_fields()))}});
}

}  // namespace

std::string collective_study_text(const CollectiveStudy& study) {
  Out out;
  line(out, "all-reduce of fp32 between {} ranks, {} of them on this machine of {} cores",
       study.ranks, study.on_this_machine, study.cores);
  line(out,
       "priced: the closed form of the algorithm, with a link that is fitted on messages between\n"
       "neighbours and on adding, and not on all-reduces. Measured is the fastest of several.\n");
  line(out, "{:>10}   {:^22}   {:^22}   {:>12}", "", "all ranks at once", "ping-pong", "");
  line(out, "{:>10}   {:>9} {:>12}   {:>9} {:>12}   {:>12}", "bytes", "alpha", "1 / beta", "alpha",
       "1 / beta", "1 / gamma");
  for (const LinkAtSize& link : study.links)
    line(out, "{:>10}   {}   {}   {:>12}", readable(link.bytes), link_words(link.busy),
         link_words(link.alone), readable(BytesPerSecond{1 / link.busy.gamma}));
  line(out, "\n{:<20} {:>10} {:>11} {:>11} {:>7}   {:>20}", "", "bytes", "measured", "priced",
       "ratio", "priced by ping-pong");
  for (const CollectiveTiming& row : study.rows)
    line(out, "{:<20} {:>10} {:>11} {:>11} {:>7.2f}   {:>12} {:>7.2f}", to_string(row.algorithm),
         readable(row.bytes), readable(row.measured), readable(row.priced),
         ratio_of(row.priced, row.measured), readable(row.priced_alone),
         ratio_of(row.priced_alone, row.measured));
  line(out, "");
  for (const SizeChoice& c : choices_of(study))
    line(out, "{}: the price chooses {}, {}.", readable(c.bytes), to_string(c.priced),
         c.priced == c.measured ? "which is the fastest"
                                : fmt::format("which took {:.0f} % longer than {}", 100 * c.lost,
                                              to_string(c.measured)));
  if (study.on_this_machine > study.cores)
    line(out,
         "{} ranks share {} cores, so that a message may wait for one: times are then those of a "
         "busy "
         "machine, and differ from one measurement to the next.",
         study.on_this_machine, study.cores);
  line(out, "All sums are equal to {:.1e} of their value.", study.sum_error);
  return out;
}

Json collectives_schema() { return collective_study_fields().schema(); }

std::string collective_study_document(const CollectiveStudy& study) {
  return write_json(collective_study_fields().write(study));
}

}  // namespace trainyard
