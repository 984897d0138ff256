import { Migration } from '@mikro-orm/migrations'

export class Migration20261127000831_incomplete_analyses extends Migration {
  override up() {
    this.addSql('alter table `score_reports` add column `is_incomplete` integer not null default false;')
  }
}
