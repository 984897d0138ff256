import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000009_deletion extends Migration {
  override up() {
    this.addSql('create unique index "jobs_waiting" on "jobs" ("kind", "subject") where state = \'queued\';')
  }
}
