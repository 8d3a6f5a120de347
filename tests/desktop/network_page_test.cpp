// Tests the tab Network as a user would use it: simulating, other jobs, refusing, staleness.
#include "app/desktop/study/network_page.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "app/desktop/controls/canvas_widget.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"
#include "visualizers/network/incast_sentence.h"
#include "visualizers/network/network_view.h"

namespace trainyard {
namespace {

struct NetworkTab : PageTab<NetworkPage> {
  NetworkTab()
      : PageTab("analyse", "network",
                Request{.model = "gpt2",
                        .cluster = "h100-sxm:16,per-node=4,oversubscription=2",
                        .plan = "",
                        .settings = {"tp=2", "global-batch=16", "seq=1024"}}) {}
  void simulate() const {
    page->start();
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    ASSERT_NE(page->measurement().found(), nullptr) << page->measurement().error();
  }
};

TEST(NetworkPage, SimulatesTheOpenPlanAloneAndBesideOtherJobs) {
  const NetworkTab tab;
  EXPECT_EQ(tab.page->table(), std::nullopt) << "there is nothing to save before";
  EXPECT_EQ(tab.said("What is simulated"), "Network of gpt2");
  tab.simulate();
  const auto alone = tab.page->measurement().found();
  EXPECT_EQ(tab.page->table()->rows, alone->use.busiest.size() + alone->use.waits.size());
  EXPECT_EQ(tab.said("Freshness of the measurement"), "fresh");
  for (const std::string& sentence : network_sentences(alone->use))
    EXPECT_NE(tab.page->sentences().toStdString().find(sentence), std::string::npos) << sentence;
  EXPECT_FALSE(alone->use.busiest.front().over_time.empty());
  tab.type("Other jobs, % of every port", "20");
  EXPECT_EQ(tab.said("Freshness of the measurement"), "stale: the question changed");
  tab.simulate();
  const auto beside = tab.page->measurement().found();
  EXPECT_GT(beside->use.step, alone->use.step);
  EXPECT_EQ(beside->use.tenants, 0.2);
  named<QPushButton>(*tab.page, "Copy the command line of the measurement")->click();
  EXPECT_TRUE(QApplication::clipboard()->text().endsWith("--network flows --tenants 0.2"))
      << QApplication::clipboard()->text().toStdString();
}

TEST(NetworkPage, RefusesWhatIsNoShareAndSimulatesNothing) {
  const NetworkTab tab;
  tab.type("Other jobs, % of every port", "100");
  tab.page->start();
  EXPECT_FALSE(tab.page->measurement().running());
  EXPECT_EQ(tab.page->measurement().found(), nullptr);
}

TEST(NetworkPage, SaysWhatManySendersToOnePortHaveOfIt) {
  const NetworkTab tab;
  const QString label = "What senders to one port have of it";
  EXPECT_EQ(tab.said(label), "");
  tab.type("Senders to one port", "48");
  IncastQuestion asked;
  asked.senders = 48;
  EXPECT_EQ(tab.said(label).toStdString(), incast_sentence(incast(asked)));
  tab.type("Senders to one port", "257");
  EXPECT_EQ(tab.said(label), "") << "more than are followed";
}

}  // namespace
}  // namespace trainyard
