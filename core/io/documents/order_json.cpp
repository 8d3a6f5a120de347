#include "core/io/documents/order_json.h"

#include <cmath>

#include "core/io/bytes/files.h"
#include "core/io/plans/pipeline_csv.h"

namespace trainyard {
namespace {

// A whole number of microbatches is written as one.
Form<double> microbatches_form() {
  Form<double> form = number();
  form.write = [](double value) {
    return value == std::floor(value) ? Json(static_cast<std::int64_t>(value)) : Json(value);
  };
  return form;
}

Fields<OrderDocument::Card> card_fields() {
  using Card = OrderDocument::Card;
  return {{"gains", &Card::gains},
          {"costs", &Card::costs},
          {"legal_when", &Card::legal_when},
          {"paper", &Card::paper}};
}

const OrderDocument::Card* card_of(const OrderDocument& document) {
  return document.card.paper.empty() ? nullptr : &document.card;
}

// The number is stated where the schedule has several steps.
template <class Member>
auto of_steps(Member member) {
  return [member](const OrderDocument& document) {
    return document.steps > 1 ? std::optional<int>(document.*member) : std::nullopt;
  };
}

template <class Member>
auto set_in(Member member) {
  return [member](OrderDocument& document, const JsonCursor& at) {
    document.*member = static_cast<int>(at.integer());
  };
}

}  // namespace

Json lines_json(std::string_view text) {
  Json list = Json::list();
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    list.push(text.substr(from, end - from));
    from = end + 1;
  }
  return list;
}

std::string joined_lines(const JsonCursor& list) {
  std::string text;
  for (const JsonCursor& line : list.items()) text += line.text() + "\n";
  return text;
}

const Fields<OrderDocument>& order_fields() {
  using D = OrderDocument;
  static const Fields<D> fields = document_fields<D>(
      "trainyard/order",
      {{"schedule", &D::schedule, kDefaulted},
       {"devices", &D::devices, whole(1), kDefaulted},
       {"virtual_stages", &D::virtual_stages, whole(1), kDefaulted},
       {"microbatches", &D::microbatches, whole(1), kDefaulted},
       {"placement", &D::placement, kWhereSet, "of stages on devices"},
       {"steps", of_steps(&D::steps), set_in(&D::steps), whole(1), "of an asynchronous schedule"},
       {"step", of_steps(&D::step), set_in(&D::step), "of them, that times and bubbles are of"},
       {"makespan", &D::makespan, kDefaulted, "seconds"},
       {"ideal", &D::ideal, kDefaulted, "seconds"},
       {"lower_bound", &D::lower_bound, kWhereSet, "seconds; no order is shorter"},
       {"found_by", &D::found_by, kWhereSet, "of a solved order"},
       {"bubble_fraction", &D::bubble_fraction, number(kShare), kDefaulted},
       {"over_one_wave", &D::over_one_wave, kWhereSet,
        "of waves: samples a second over one wave's"},
       {"span_bubble_fraction", &D::span_bubble_fraction, list_of(number(kShare)), kWhereSet,
        "of each device, between its own first pass and its own last end"},
       {"live_microbatches", &D::live_microbatches, list_of(microbatches_form()), kDefaulted},
       {"delays", &D::delays, kWhereSet, "of each stage's forward, in updates"},
       {"versions", &D::versions, list_of(whole(1)), kWhereSet,
        "of each stage's weights, most at once"},
       {"card", card_of, object(card_fields()),
        [](D& document, const JsonCursor& at) { document.card = card_fields().read(at); }},
       {"lanes", [](const D& document) { return lines_json(to_text(document.order)); },
        any(list_schema(text().schema)), "a lane each, as d0/compute  0F0 0B0",
        [](D& document, const JsonCursor& at) {
          document.order = parse_order(joined_lines(at), at.place());
        }}});
  return fields;
}

std::string order_document(const OrderDocument& document) {
  return write_json(order_fields().write(document));
}

Order order_of(std::string_view content, const std::string& source) {
  if (looks_like_pipeline_csv(content)) return parse_pipeline_csv(content, source).order;
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || content[first] != '{')
    return parse_order(content, {source});
  const Json json = read_document(content, "trainyard/order", source);
  const JsonCursor root(json, source);
  const JsonCursor lanes = root.at("lanes");
  return parse_order(joined_lines(lanes), lanes.place());
}

Order read_order(const std::string& path) {
  Order order = order_of(read_file(path), path);
  if (order.lanes.empty())
    throw Error(Error::Kind::InvalidInput,
                "expected lanes of work, as \"trainyard schedule 1f1b\" prints them, found none",
                {path});
  return order;
}

}  // namespace trainyard
