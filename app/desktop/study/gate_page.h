// A GatePage holds lossy models against a checkpoint of the open model: the question at the left,
// charts over the tasks as rows, and who passes in sentences. The charts are the answers that one
// model alone has right as bars, and errors over the rate of flipped bits as a curve. Where the
// lossless size was asked for, the tensors are rows in place of the tasks on demand.
#pragma once

#include "app/desktop/study/gate_panel.h"
#include "app/desktop/study/study_page.h"

namespace trainyard {

class Segment;

class GatePage : public StudyPage {
  Q_OBJECT

 public:
  explicit GatePage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.gate*" act on this page.
  void connect_commands(const Actions&);

  const GateMeasurement& measurement() const { return measurement_; }
  GatePanel& panel() const { return *panel_; }
  void start() override;
  /// Why no plan of that model may be exported; empty where it may.
  QString blocks(const std::string& model) const;

  /// As the command line writes them.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 private:
  void refresh();
  void show_rows();

  GateMeasurement& measurement_;
  const GateReport* shown_ = nullptr;  // of which the table and the picture are
  std::optional<GateCharts> charts_;
  GatePanel* panel_;
  Segment* listed_;  // tasks, or tensors
};

}  // namespace trainyard
