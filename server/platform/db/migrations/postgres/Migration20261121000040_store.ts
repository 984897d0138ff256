import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000040_store extends Migration {
  override up() {
    this.addSql('alter table "deleted_versions" add column "archive_sha256" varchar(64) null;')
    this.addSql('create table "archive_faults" ("sha256" varchar(64) not null, "kind" text not null, "found_at" timestamptz(3) not null, primary key ("sha256"));')
    this.addSql('alter table "archive_faults" add constraint "archive_faults_kind_check" check ("kind" in (\'missing\', \'damaged\'));')
  }
}
