import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000001_audit_chain extends Migration {
  override up() {
    // The server adds existing entries to the hash chain when it starts, oldest first. Changes made to them before then cannot be detected.
    this.addSql('create table "audit_chain" ("entry_id" uuid not null, "position" bigint not null, "hash" varchar(64) not null, primary key ("entry_id"));')
    this.addSql('alter table "audit_chain" add constraint "audit_chain_position_unique" unique ("position");')
    this.addSql('create trigger audit_chain_keep before update or delete or truncate on "audit_chain" for each statement execute function audit_entries_keep();')
  }
}
