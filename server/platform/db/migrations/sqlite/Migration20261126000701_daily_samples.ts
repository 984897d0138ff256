import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000701_daily_samples extends Migration {
  override up() {
    this.addSql('create table `daily_samples` (`day` integer not null primary key, `archive_bytes` bigint null, `docs_bytes` bigint null, `database_bytes` bigint null, `free_bytes` bigint null, `active_people` integer not null, `active_tokens` integer not null);')
    this.addSql('create index `package_versions_created_at_index` on `package_versions` (`created_at`);')
  }
}
