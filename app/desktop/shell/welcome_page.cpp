#include "app/desktop/shell/welcome_page.h"

#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/session/document.h"

namespace trainyard {
namespace {

QPushButton* tile(const QString& title, const QString& story, const QString& sign) {
  auto* button = new QPushButton("   " + title + "\n   " + story);
  button->setProperty("kind", "tile");
  button->setIcon(icon(sign, qcolor(Ink::Accent, current_theme())));
  button->setIconSize({24, 24});
  button->setAccessibleName(title);
  button->setAccessibleDescription(story);
  return button;
}

}  // namespace

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent) {
  setObjectName("canvas");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName("Start");
  auto* outer = new QVBoxLayout(this);
  auto* centre = new QWidget;
  centre->setFixedWidth(560);
  auto* column = new QVBoxLayout(centre);
  column->setSpacing(12);
  column->addWidget(make_label("Design a training before you pay for it", 20, QFont::DemiBold));
  auto* story = make_label(
      "Drop a model's config.json here, or a project, cluster or plan file. "
      "The timeline, the memory waves and the verdict appear here.",
      13, QFont::Normal, "second");
  story->setWordWrap(true);
  column->addWidget(story);
  column->addSpacing(8);
  auto* open_tile =
      tile("Open a config", "a Hugging Face config.json, a project, a cluster or a plan", "file");
  auto* example_tile = tile("Open the example",
                            "Llama 3 70B on 64 H100: pipeline, tensor and data parallel", "plan");
  auto* published_tile = tile("Open a published result",
                              "what others measured beside what is predicted of it", "plan");
  column->addWidget(open_tile);
  column->addWidget(example_tile);
  column->addWidget(published_tile);
  auto* lesson_tile = tile("Start a lesson", "ten lessons that ask before they show", "model");
  column->addWidget(lesson_tile);
  connect(lesson_tile, &QPushButton::clicked, this, &WelcomePage::lesson);
  column->addSpacing(8);
  column->addWidget(make_label("Recent", 12, QFont::DemiBold));
  recent_ = new QVBoxLayout;
  recent_->setSpacing(2);
  column->addLayout(recent_);
  outer->addStretch(2);
  outer->addWidget(centre, 0, Qt::AlignHCenter);
  outer->addStretch(3);
  connect(open_tile, &QPushButton::clicked, this, &WelcomePage::open);
  connect(published_tile, &QPushButton::clicked, this, &WelcomePage::published);
  connect(example_tile, &QPushButton::clicked, this,
          [this] { Q_EMIT example("llama-3-70b", "h100-sxm:64"); });
  refresh();
}

void WelcomePage::refresh() {
  while (QLayoutItem* item = recent_->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();  // deleted later, so it must not be drawn over new widgets
      item->widget()->deleteLater();
    }
    delete item;
  }
  const QStringList files = recent_files();
  if (files.isEmpty()) recent_->addWidget(make_label("Nothing yet.", 12, QFont::Normal, "third"));
  for (const QString& path : files.mid(0, 5)) {
    auto* button =
        new QPushButton(QFileInfo(path).fileName() + "   " + QFileInfo(path).absolutePath());
    button->setProperty("kind", "small");
    button->setAccessibleName("Open " + path);
    connect(button, &QPushButton::clicked, this, [this, path] { Q_EMIT open_file(path); });
    recent_->addWidget(button);
  }
}

}  // namespace trainyard
