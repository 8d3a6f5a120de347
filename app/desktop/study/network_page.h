// The Network tab: how the transfers of the open plan share the links of its cluster, with the
// routing and what other jobs send at the left, links by load over the step and who waits for whom
// as a picture over the table of all links, and what follows in sentences.
#pragma once

#include <memory>
#include <optional>

#include "app/desktop/study/network_panel.h"
#include "app/desktop/study/study_page.h"

namespace trainyard {

class NetworkPage : public StudyPage {
  Q_OBJECT

 public:
  explicit NetworkPage(Document&, QWidget* parent = nullptr);

  void connect_commands(const Actions& actions) { connect_save(actions); }

  const NetworkMeasurement& measurement() const { return measurement_; }
  NetworkPanel& panel() const { return *panel_; }
  void start() override;

  void choose_row(Item) override;
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  void refresh();

  NetworkMeasurement& measurement_;
  std::shared_ptr<const NetworkStep> shown_;  // of which the table and the picture are
  NetworkPanel* panel_;
};

}  // namespace trainyard
