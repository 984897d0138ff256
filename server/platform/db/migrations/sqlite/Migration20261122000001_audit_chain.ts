import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000001_audit_chain extends Migration {
  override up() {
    // The server adds existing entries to the hash chain when it starts, oldest first. Changes made to them before then cannot be detected.
    this.addSql('create table `audit_chain` (`entry_id` text not null primary key, `position` bigint not null, `hash` text not null);')
    this.addSql('create unique index `audit_chain_position_unique` on `audit_chain` (`position`);')
    this.addSql('create trigger `audit_chain_keep_update` before update on `audit_chain` begin select raise(abort, \'audit entries are never changed\'); end;')
    this.addSql('create trigger `audit_chain_keep_delete` before delete on `audit_chain` begin select raise(abort, \'audit entries are never changed\'); end;')
  }
}
