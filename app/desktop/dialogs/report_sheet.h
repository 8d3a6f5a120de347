// A ReportSheet lists what a benchmark report leaves out or bends, each with what an honest report
// has there.
#pragma once

#include <QDialog>

#include <vector>

#include "core/result/benchmark_report.h"

namespace trainyard {

class ReportSheet : public QDialog {
  Q_OBJECT

 public:
  ReportSheet(const std::vector<ReportFinding>&, const QString& file, QWidget* parent);
  /// The whole content of the sheet as one text.
  QString text() const { return text_; }

 private:
  QString text_;
};

}  // namespace trainyard
