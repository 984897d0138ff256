import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000500_api_verdicts extends Migration {
  override up() {
    this.addSql('create table "version_api_verdicts" ("version_id" uuid not null, "compared_with" varchar(64) not null, "verdict" varchar(16) not null, "is_honest" boolean null, primary key ("version_id"));')
    this.addSql('alter table "version_api_verdicts" add constraint "version_api_verdicts_version_id_foreign" foreign key ("version_id") references "package_versions" ("id") on update cascade on delete cascade;')
  }
}
