#include "app/desktop/study/aggregation_panel.h"

#include <QVBoxLayout>

#include <string_view>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"

namespace trainyard {
namespace {

constexpr int kAggregationField = 84;  // px

bool is_of_plan(const SharedClusterField& field) {
  const std::string_view flag = field.flag;
  return flag == "gradients" || flag == "link";
}

}  // namespace

AggregationPanel::AggregationPanel(Document& document, const AggregationMeasurement& measurement,
                                   QWidget* parent)
    : MeasurementPanel({"Aggregation", "What shares the network", "Share of the study done",
                        "Why nothing is found", "Question about aggregation"},
                       document, measurement, parent) {
  make_question();
  follow(nullptr, asked_);
  refresh();
}

void AggregationPanel::make_question() {
  auto* column = begin_fields(
      "Jobs share leaf and spine switches with short flows of other hosts. They add up their "
      "gradients in rings, or the switches do (PANAMA), in one tree of a job or in several.");
  for (const SharedClusterField& each : shared_cluster_fields()) {
    auto* field = new CheckedField({each.title, q(each.write({})),
                                    [&each](const std::string& typed) {
                                      SharedClusterQuestion scratch;
                                      each.read(scratch, typed);
                                    },
                                    kAggregationField});
    field->setToolTip(each.tip);
    column->addWidget(field);
    asked_.push_back(field);
  }
  column->addStretch(1);
}

SharedClusterAsked AggregationPanel::question() const {
  SharedClusterAsked asked;
  for (std::size_t i = 0; i < asked_.size(); ++i)
    if (!asked_[i]->text().empty())
      read_field(asked, shared_cluster_fields()[i], asked_[i]->text());
  if (!asked.given.contains("gradients") || !asked.given.contains("link")) asked.plan = open_plan();
  return asked;
}

QString AggregationPanel::fingerprint() const {
  return fields_hold() ? q(shared_cluster_command(question())) : QString();
}

MeasurementPanel::Verbs AggregationPanel::verbs() const {
  return {"Simulate", "Simulate again", "Start simulating jobs that share a network",
          "Stop simulating jobs that share a network", ""};
}

QString AggregationPanel::missing() const { return wrong_field(); }

QString AggregationPanel::subject() const {
  if (!fields_hold()) return "Jobs that share a network";
  const SharedClusterQuestion asked = question().question;
  return asked.jobs == 1 ? QString("1 job beside short flows")
                         : QString("%1 jobs that share a network").arg(asked.jobs);
}

void AggregationPanel::refresh() {
  const bool has_plan = open_plan().has_value();
  for (std::size_t i = 0; i < asked_.size(); ++i)
    if (const SharedClusterField& field = shared_cluster_fields()[i]; is_of_plan(field))
      asked_[i]->set_usual(has_plan ? "of the plan" : q(field.write({})));
  MeasurementPanel::refresh();
}

}  // namespace trainyard
