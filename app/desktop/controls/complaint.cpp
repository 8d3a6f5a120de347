#include "app/desktop/controls/complaint.h"

#include <QFontMetrics>
#include <QGridLayout>
#include <QMessageBox>
#include <QRegularExpression>
#include <QSpacerItem>

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

constexpr int kLeastWidth = 380, kMostWidth = 900;

std::function<void(const QString&)>& answer() {
  static std::function<void(const QString&)> function;
  return function;
}

}  // namespace

void answer_complaints(std::function<void(const QString&)> function) {
  answer() = std::move(function);
}

void complain(QWidget* parent, const QString& what, const QString& sentence) {
  if (answer()) return answer()(sentence);
  QMessageBox box(QMessageBox::Warning, "Trainyard", what, QMessageBox::Ok, parent);
  box.setInformativeText(sentence);
  int width = kLeastWidth;  // of the longest word, which is a path
  for (const QString& word : sentence.split(QRegularExpression("\\s+")))
    width = std::max(width, box.fontMetrics().horizontalAdvance(word) + 24);
  if (auto* grid = qobject_cast<QGridLayout*>(box.layout()))
    grid->addItem(new QSpacerItem(std::min(width, kMostWidth), 0), grid->rowCount(), 0, 1,
                  grid->columnCount());
  box.exec();
}

}  // namespace trainyard
