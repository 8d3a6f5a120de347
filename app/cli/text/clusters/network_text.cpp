#include "app/cli/text/clusters/network_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/json/fields.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostLinks = 5, kMostWaits = 6;

std::string same_as_it(std::int64_t links) {
  return links == 1 ? "" : fmt::format(" and {} like it", links - 1);
}

double share_of_step(Duration time, const NetworkUse& use) {
  return use.step.count() > 0 ? 100 * to_seconds(time) / to_seconds(use.step) : 0;
}

double in_seconds(Duration d) { return to_seconds(d); }

Fields<LinkUse> link_fields() {
  return {{"example", &LinkUse::example, text()},
          {"links", &LinkUse::links, whole(1), "that have the same to do"},
          {"level", [](const LinkUse& l) { return static_cast<std::int64_t>(l.level); }, whole(),
           "of the cluster, 0 = inside a node"},
          {"rate", [](const LinkUse& l) { return l.rate.value; }, number(),
           "bytes per second of one link"},
          {"load", &LinkUse::load, number(), "share of the step in which it is busy"},
          {"load_of_others", &LinkUse::of_others, number(), "the part of it that other jobs are"},
          {"load_over_time", &LinkUse::over_time, list_of(number()),
           "by bins of time; empty beyond the 64 busiest kinds of links"}};
}

Fields<TransferWait> wait_fields() {
  return {{"waiting", &TransferWait::waiting, text()},
          {"holding", &TransferWait::holding, text()},
          {"link", &TransferWait::link, text(), "one of those on which both meet"},
          {"seconds", [](const TransferWait& w) { return in_seconds(w.time); }, number(),
           "of one step, mean over the pipeline ranks"}};
}

Fields<LinkIncast> burst_fields() {
  return {{"name", &LinkIncast::name, text(), "of the transfers"},
          {"link", &LinkIncast::link, text(), "one of the ports at which the senders meet"},
          {"links", &LinkIncast::links, whole(1), "at which as many meet"},
          {"senders", &LinkIncast::senders, whole(2)},
          {"block_bytes", &LinkIncast::block, "of each sender"},
          {"timeouts", &LinkIncast::timeouts, number(), "of one exchange, in the mean"},
          {"seconds", [](const LinkIncast& i) { return in_seconds(i.time); }, number(),
           "of one step, mean over the pipeline ranks"}};
}

Fields<NetworkUse> network_fields() {
  return document_fields<NetworkUse>(
      "trainyard/network",
      {{"routing", [](const NetworkUse& u) { return std::string(to_string(u.routing)); }, text()},
       {"tenants", &NetworkUse::tenants, number(),
        "what other jobs send, as a share of a port's rate"},
       {"step_seconds", [](const NetworkUse& u) { return in_seconds(u.step); }, number(),
        "with transfers that share links"},
       {"step_seconds_alone", [](const NetworkUse& u) { return in_seconds(u.alone); }, number(),
        "with each transfer priced by itself"},
       {"used_links", &NetworkUse::links, whole()},
       {"flows", &NetworkUse::flows, whole(), "of one transfer of each kind and place"},
       {"kinds_of_flows", &NetworkUse::kinds, whole(),
        "of which one flow says what all of them do"},
       {"bin_seconds", [](const NetworkUse& u) { return in_seconds(u.bin); }, number(),
        "width of the bins of time, the last one cut by the end of the step"},
       {"links", &NetworkUse::busiest, list_of(object(link_fields())), "busiest first"},
       {"waits", &NetworkUse::waits, list_of(object(wait_fields())), "longest first"},
       {"incasts", &NetworkUse::incasts, list_of(object(burst_fields())), kWhereSet,
        "what bursts lose that overflow the buffer of a port, longest first"}});
}

}  // namespace

std::string network_text(const NetworkUse& use) {
  Out out;
  constexpr double kSeen = 0.05;  // % from which on one digit shows it
  double longer =
      use.alone.count() > 0 ? 100 * (to_seconds(use.step) / to_seconds(use.alone) - 1) : 0;
  if (std::abs(longer) < kSeen) longer = 0;  // never -0.0 %
  line(out, "\nNetwork: transfers share links max-min fairly, {} over equal paths{}",
       use.routing == NetworkRouting::Spread ? "spread" : "hashed",
       use.tenants > 0
           ? fmt::format(", and other jobs send at {:.3g} % of every port", 100 * use.tenants)
           : "");
  line(out, "  step {}, {} if each transfer had its links to itself: {:+.1f} %",
       format_duration(use.step), format_duration(use.alone), longer);
  const auto counted = [](auto count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
  };
  line(out, "  {} of {} over {}", counted(use.flows, "flow"), counted(use.kinds, "kind"),
       counted(use.links, "link"));
  if (!use.busiest.empty())
    line(out, "  busiest links, by the share of the step in which they are busy");
  for (std::size_t i = 0; i < std::min(kMostLinks, use.busiest.size()); ++i) {
    const LinkUse& link = use.busiest[i];
    line(out, "    {:>5.1f} %  {}, {}{}", 100 * link.load, link.example, to_text(link.rate),
         same_as_it(link.links));
  }
  if (!use.incasts.empty()) line(out, "  lost to incast, in a step of a mean pipeline rank");
  for (std::size_t i = 0; i < std::min(kMostWaits, use.incasts.size()); ++i) {
    const LinkIncast& burst = use.incasts[i];
    line(out, "    {:>9} ({:.1f} %)  {}: {} senders of {} meet at the {}{}, {:.3g} timeouts",
         format_duration(burst.time), share_of_step(burst.time, use), burst.name, burst.senders,
         to_text(burst.block), burst.link, same_as_it(burst.links), burst.timeouts);
  }
  if (use.waits.empty()) {
    line(out, "  no transfer waits for another on a link");
    return out;
  }
  line(out, "  who waits for whom, in a step of a mean pipeline rank");
  for (std::size_t i = 0; i < std::min(kMostWaits, use.waits.size()); ++i) {
    const TransferWait& wait = use.waits[i];
    line(out, "    {:>9} ({:.1f} %)  {} for {}, at the {}", format_duration(wait.time),
         share_of_step(wait.time, use), wait.waiting, wait.holding, wait.link);
  }
  return out;
}

std::string network_document(const NetworkUse& use) {
  return write_json(network_fields().write(use));
}

Json network_schema() { return network_fields().schema(); }

}  // namespace trainyard
