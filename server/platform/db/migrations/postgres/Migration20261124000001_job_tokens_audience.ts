import { Migration } from '@mikro-orm/migrations'

export class Migration20261124000001_job_tokens_audience extends Migration {
  override up() {
    this.addSql('alter table "job_tokens" add column "is_for_anybody" boolean not null default false;')
  }
}
