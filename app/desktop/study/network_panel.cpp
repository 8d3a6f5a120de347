#include "app/desktop/study/network_panel.h"

#include <QLabel>
#include <QVBoxLayout>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/units_text.h"
#include "core/network/incast.h"
#include "visualizers/network/incast_sentence.h"
#include "visualizers/network/network_view.h"

namespace trainyard {
namespace {

constexpr double kMostTenants = 99;
constexpr std::int64_t kMostSeed = 1'000'000'000, kMostSlots = 1'000'000'000, kMostTrees = 64;
constexpr std::int64_t kMostSenders = 256;  // of which all are followed at each letter typed

double tenants_of(const std::string& typed) {
  const auto percent = number_of<double>(typed);
  if (!percent || !(*percent >= 0 && *percent <= kMostTenants))
    refuse("expected percent from 0 to 99, found \"" + typed.substr(0, 40) + "\"");
  return *percent / 100;
}

}  // namespace

NetworkPanel::NetworkPanel(Document& document, const NetworkMeasurement& measurement,
                           QWidget* parent)
    : MeasurementPanel({"Network", "What is simulated", "Share of the simulation done",
                        "Why nothing is simulated", "Question about the network"},
                       document, measurement, parent) {
  make_question();
  follow(nullptr, {tenants_, seed_, slots_, trees_});
  connect(routing_, &Segment::chosen, this, &NetworkPanel::note_change);
  refresh();
}

void NetworkPanel::make_question() {
  auto* column = begin_fields(
      "The step of the open plan is simulated once more, and its transfers share the links of the "
      "cluster's network: each gets a fair share of the links that it takes.");
  routing_ = new Segment("Flows over equal paths", {"Spread", "Hashed"});
  routing_->set_current(0);
  routing_->setToolTip(
      "Spread: a flow takes all paths of equal length in equal parts. Hashed: a flow takes one of "
      "them, which a hash of its ends chooses (ECMP).");
  column->addWidget(make_label("Flows over equal paths", 11, QFont::Normal, "second"));
  column->addWidget(routing_);
  tenants_ = new CheckedField({"Other jobs, % of every port", "0",
                               [](const std::string& typed) { tenants_of(typed); }, 88});
  tenants_->setToolTip("Other jobs send that much from every device to one of another node.");
  seed_ = new CheckedField({"Seed of other jobs", "1", whole_check(0, kMostSeed), 88});
  seed_->setToolTip("Draws to which nodes other jobs send.");
  slots_ = new CheckedField({"Slots of a switch that adds up", "", whole_check(0, kMostSlots), 88});
  slots_->setToolTip(
      "Packets of 1 kB that a switch between nodes holds to add them up, each for a round trip of "
      "10 us, where the cluster's switches do. What finds no slot goes around the ring. Empty: "
      "endlessly many.");
  trees_ = new CheckedField({"Trees of such a sum", "1", whole_check(1, kMostTrees), 88});
  trees_->setToolTip("With hashed paths each tree is on paths of its own.");
  for (CheckedField* field : {tenants_, seed_, slots_, trees_}) column->addWidget(field);
  make_incast(column);
  column->addStretch(1);
}

void NetworkPanel::make_incast(QVBoxLayout* column) {
  const IncastQuestion usual;
  const auto add = [&](const QString& text, const char* tone) {
    QLabel* const made = make_label(text, 11, QFont::Normal, tone);
    made->setWordWrap(true);
    column->addWidget(made);
    return made;
  };
  column->addSpacing(8);
  add(q("Beside the step: senders that answer one device at once meet in the buffer of its port. "
        "Their links have " +
        to_text(usual.link) + ", the port holds " + std::to_string(usual.buffer) +
        " packets and marks above " + std::to_string(usual.threshold) + "."),
      "third");
  senders_ = new CheckedField({"Senders to one port", "0", whole_check(0, kMostSenders), 88});
  senders_->setToolTip(
      "Each has a block of 256 kB. What the port cannot hold is lost, and a sender that loses most "
      "of its window waits 200 ms. More can be asked of trainyard network --incast.");
  column->addWidget(senders_);
  incast_ = add("", "second");
  incast_->setAccessibleName("What senders to one port have of it");
  connect(senders_, &CheckedField::changed, this, &NetworkPanel::say_incast);
}

void NetworkPanel::say_incast() {
  IncastQuestion asked;
  asked.senders = senders_->check() ? whole_or(*senders_, 0) : 0;
  incast_->setText(asked.senders > 0 ? q(incast_sentence(incast(asked))) : QString());
}

NetworkQuestion NetworkPanel::question() const {
  NetworkQuestion asked;
  NetworkOptions& options = asked.options;
  options.routing = routing_->current() == 1 ? NetworkRouting::Hashed : NetworkRouting::Spread;
  if (const std::string typed = tenants_->text(); !typed.empty())
    options.tenants = tenants_of(typed);
  options.seed = static_cast<std::uint64_t>(whole_or(*seed_, 1));
  options.slots = whole_or(*slots_, options.slots);
  options.trees = whole_or(*trees_, options.trees);
  options.bins = kNetworkBins;
  return asked;
}

QString NetworkPanel::fingerprint() const {
  const auto asked = request();
  if (!asked) return {};
  const NetworkOptions options = question().options;
  std::string command = "trainyard simulate" + scenario_flags(*asked) + " --network flows";
  if (options.routing == NetworkRouting::Hashed) command += " --routing hashed";
  if (options.tenants > 0) command += " --tenants " + to_text(options.tenants);
  if (options.slots >= 0) command += " --slots " + std::to_string(options.slots);
  if (options.trees != NetworkOptions{}.trees)
    command += " --trees " + std::to_string(options.trees);
  if (options.seed != NetworkOptions{}.seed) command += " --seed " + std::to_string(options.seed);
  return q(command);
}

MeasurementPanel::Verbs NetworkPanel::verbs() const {
  return {"Simulate", "Simulate again", "Start simulating the network",
          "Stop simulating the network", "Network of"};
}

}  // namespace trainyard
