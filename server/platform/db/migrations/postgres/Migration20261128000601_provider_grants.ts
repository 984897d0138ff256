import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000601_provider_grants extends Migration {
  override up() {
    this.addSql('alter table "linked_identities" add column "grants" text null;')
    this.addSql('alter table "linked_identities" add column "granted_by" varchar(32) null;')
  }
}
