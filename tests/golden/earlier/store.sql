BEGIN TRANSACTION;
CREATE TABLE addresses (
	address VARCHAR(45) NOT NULL, 
	vm VARCHAR(80) NOT NULL, 
	PRIMARY KEY (address)
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE audiences (
	name VARCHAR(161) NOT NULL, 
	"group" VARCHAR(80) NOT NULL, 
	vm VARCHAR(80), 
	epoch VARCHAR(40) NOT NULL, 
	incarnation BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "audiences" VALUES('web','web',NULL,'d1b58592',7);
INSERT INTO "audiences" VALUES('batch','batch',NULL,'d1b58592',3);
INSERT INTO "audiences" VALUES('db-0','db-0',NULL,'d1b58592',1);
CREATE TABLE concerned (
	maintenance VARCHAR(40) NOT NULL, 
	position BIGINT NOT NULL, 
	PRIMARY KEY (maintenance, position)
);
INSERT INTO "concerned" VALUES('A6E63124-16A4-4E26-AAC9-EE1E47ACEF40',4);
INSERT INTO "concerned" VALUES('EDD620C9-E10C-4886-B660-78F5CFD339CC',6);
INSERT INTO "concerned" VALUES('B2F97C8C-33C7-44EC-A489-7ADE7530A673',9);
INSERT INTO "concerned" VALUES('A3F967C9-5166-4037-A5F8-D751304AA07B',11);
INSERT INTO "concerned" VALUES('A6E63124-16A4-4E26-AAC9-EE1E47ACEF40',15);
INSERT INTO "concerned" VALUES('A6E63124-16A4-4E26-AAC9-EE1E47ACEF40',16);
INSERT INTO "concerned" VALUES('A6E63124-16A4-4E26-AAC9-EE1E47ACEF40',18);
INSERT INTO "concerned" VALUES('B2F97C8C-33C7-44EC-A489-7ADE7530A673',19);
INSERT INTO "concerned" VALUES('B2F97C8C-33C7-44EC-A489-7ADE7530A673',21);
INSERT INTO "concerned" VALUES('7EA00970-4B29-4439-936A-B90B9FDC29C0',23);
INSERT INTO "concerned" VALUES('7EA00970-4B29-4439-936A-B90B9FDC29C0',24);
CREATE TABLE counter (
	id INTEGER NOT NULL, 
	position BIGINT NOT NULL, 
	last_at BIGINT, 
	ordinal BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "counter" VALUES(1,27,1794893259000000,22);
CREATE TABLE events (
	id VARCHAR(40) NOT NULL, 
	maintenance VARCHAR(40) NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES('A6A663F3-421E-4013-AA50-9BBE282A43B1','A6E63124-16A4-4E26-AAC9-EE1E47ACEF40');
INSERT INTO "events" VALUES('EBA02EC8-CF7E-42B5-A0E1-46FD9BC0C43D','EDD620C9-E10C-4886-B660-78F5CFD339CC');
INSERT INTO "events" VALUES('4D6F01ED-C182-4B9B-B402-1B71DFEE5977','EDD620C9-E10C-4886-B660-78F5CFD339CC');
INSERT INTO "events" VALUES('D58C7055-708F-4F53-8424-393F88AD6D33','B2F97C8C-33C7-44EC-A489-7ADE7530A673');
INSERT INTO "events" VALUES('DCAF2C84-9A60-40C1-9722-B4E8B5C55B7F','A3F967C9-5166-4037-A5F8-D751304AA07B');
INSERT INTO "events" VALUES('645370BC-DA40-455A-BECC-6C6A78A5AFC4','A3F967C9-5166-4037-A5F8-D751304AA07B');
INSERT INTO "events" VALUES('0FCA3E5C-237A-4594-BA0B-87A4631F656F','7EA00970-4B29-4439-936A-B90B9FDC29C0');
INSERT INTO "events" VALUES('1C5311DE-A1A8-4A86-9F50-08F2E69E7E4F','7EA00970-4B29-4439-936A-B90B9FDC29C0');
INSERT INTO "events" VALUES('14B94BB3-12F0-4363-82B9-D12CFAD94077','7EA00970-4B29-4439-936A-B90B9FDC29C0');
CREATE TABLE groups (
	name VARCHAR(80) NOT NULL, 
	"key" VARCHAR(80) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	last_request BIGINT, 
	body TEXT NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE ("key")
);
INSERT INTO "groups" VALUES('web','web',4,1794892059000000,'{"name":"web","kind":"availability-set","listening":"always","terminate_notice":null,"auto_approve":[],"isolated":false,"declared":true,"listening_since":null,"last_request":null}');
INSERT INTO "groups" VALUES('db-0','db-0',5,1794892059000000,'{"name":"db-0","kind":"standalone","listening":"always","terminate_notice":null,"auto_approve":[],"isolated":false,"declared":true,"listening_since":null,"last_request":null}');
INSERT INTO "groups" VALUES('batch','batch',6,NULL,'{"name":"batch","kind":"scale-set","listening":"always","terminate_notice":null,"auto_approve":[],"isolated":false,"declared":true,"listening_since":null,"last_request":null}');
CREATE TABLE hosts (
	name VARCHAR(80) NOT NULL, 
	"key" VARCHAR(80) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE ("key")
);
INSERT INTO "hosts" VALUES('host-a','host-a',1,'{"name":"host-a"}');
INSERT INTO "hosts" VALUES('host-b','host-b',2,'{"name":"host-b"}');
INSERT INTO "hosts" VALUES('host-c','host-c',3,'{"name":"host-c"}');
CREATE TABLE involved (
	"group" VARCHAR(80) NOT NULL, 
	maintenance VARCHAR(40) NOT NULL, 
	live BOOLEAN NOT NULL, 
	PRIMARY KEY ("group", maintenance)
);
INSERT INTO "involved" VALUES('web','A6E63124-16A4-4E26-AAC9-EE1E47ACEF40',1);
INSERT INTO "involved" VALUES('batch','EDD620C9-E10C-4886-B660-78F5CFD339CC',1);
INSERT INTO "involved" VALUES('web','EDD620C9-E10C-4886-B660-78F5CFD339CC',1);
INSERT INTO "involved" VALUES('web','B2F97C8C-33C7-44EC-A489-7ADE7530A673',1);
INSERT INTO "involved" VALUES('batch','A3F967C9-5166-4037-A5F8-D751304AA07B',1);
INSERT INTO "involved" VALUES('web','A3F967C9-5166-4037-A5F8-D751304AA07B',1);
INSERT INTO "involved" VALUES('batch','7EA00970-4B29-4439-936A-B90B9FDC29C0',1);
INSERT INTO "involved" VALUES('db-0','7EA00970-4B29-4439-936A-B90B9FDC29C0',1);
INSERT INTO "involved" VALUES('web','7EA00970-4B29-4439-936A-B90B9FDC29C0',1);
CREATE TABLE journal (
	position BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	fact VARCHAR(40) NOT NULL, 
	version INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (position)
);
INSERT INTO "journal" VALUES(1,1794892059000000,'FleetChanged',1,'{"at":"2026-11-17T05:07:39+00:00","by":"serve --fleet","epoch":"d1b58592","hosts":[{"name":"host-a"},{"name":"host-b"},{"name":"host-c"}],"groups":[],"vms":[],"removed_hosts":[],"removed_groups":[],"removed_vms":[],"removed_from":[]}');
INSERT INTO "journal" VALUES(2,1794892059000000,'FleetChanged',1,'{"at":"2026-11-17T05:07:39+00:00","by":"serve --fleet","epoch":"d1b58592","hosts":[],"groups":[{"name":"web","kind":"availability-set","listening":"always","terminate_notice":null,"auto_approve":[],"isolated":false,"declared":true,"listening_since":null,"last_request":null},{"name":"db-0","kind":"standalone","listening":"always","terminate_notice":null,"auto_approve":[],"isolated":false,"declared":true,"listening_since":null,"last_request":null},{"name":"batch","kind":"scale-set","listening":"always","terminate_notice":null,"auto_approve":[],"isolated":false,"declared":true,"listening_since":null,"last_request":null}],"vms":[],"removed_hosts":[],"removed_groups":[],"removed_vms":[],"removed_from":[]}');
INSERT INTO "journal" VALUES(3,1794892059000000,'FleetChanged',1,'{"at":"2026-11-17T05:07:39+00:00","by":"serve --fleet","epoch":"d1b58592","hosts":[],"groups":[],"vms":[{"name":"web-0","group":"web","host":"host-a","update_domain":0,"fault_domain":0,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"web"},"size":"Standard_D2s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null},{"name":"web-1","group":"web","host":"host-b","update_domain":1,"fault_domain":1,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"web"},"size":"Standard_D2s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null},{"name":"web-2","group":"web","host":"host-c","update_domain":2,"fault_domain":2,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"web"},"size":"Standard_D2s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null},{"name":"db-0","group":"db-0","host":"host-a","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"db"},"size":"Standard_E4s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null},{"name":"batch_0","group":"batch","host":"host-a","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null},{"name":"batch_1","group":"batch","host":"host-b","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null},{"name":"batch_2","group":"batch","host":"host-b","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null},{"name":"batch_3","group":"batch","host":"host-c","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}],"removed_hosts":[],"removed_groups":[],"removed_vms":[],"removed_from":[]}');
INSERT INTO "journal" VALUES(4,1794892059000000,'Announced',1,'{"at":"2026-11-17T05:07:39+00:00","by":"admin","maintenance":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40","announced":{"id":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40","type":"Reboot","source":"Platform","cause":"platform","host":null,"vms":["web-0"],"not_before":"2026-11-17T05:22:39+00:00","at_once":false,"promised":900,"duration":-1,"description":"Host server is undergoing maintenance.","reason":"kernel","emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"SCHEDULED","started_at":null,"ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"A6A663F3-421E-4013-AA50-9BBE282A43B1","group":"web","resources":["web-0"],"paas":[],"update_domain":0,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}}');
INSERT INTO "journal" VALUES(5,1794892059000000,'Published',1,'{"at":"2026-11-17T05:07:39+00:00","audience":"web","group":"web","epoch":"d1b58592","incarnation":1}');
INSERT INTO "journal" VALUES(6,1794892059000000,'Announced',1,'{"at":"2026-11-17T05:07:39+00:00","by":"admin","maintenance":"EDD620C9-E10C-4886-B660-78F5CFD339CC","announced":{"id":"EDD620C9-E10C-4886-B660-78F5CFD339CC","type":"Freeze","source":"Platform","cause":"platform","host":"host-b","vms":["batch_1","batch_2","web-1"],"not_before":"2026-11-17T05:22:39+00:00","at_once":false,"promised":900,"duration":9,"description":"Host server is undergoing maintenance.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"SCHEDULED","started_at":null,"ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"EBA02EC8-CF7E-42B5-A0E1-46FD9BC0C43D","group":"batch","resources":["batch_1","batch_2"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"4D6F01ED-C182-4B9B-B402-1B71DFEE5977","group":"web","resources":["web-1"],"paas":[],"update_domain":1,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}}');
INSERT INTO "journal" VALUES(7,1794892059000000,'Published',1,'{"at":"2026-11-17T05:07:39+00:00","audience":"batch","group":"batch","epoch":"d1b58592","incarnation":1}');
INSERT INTO "journal" VALUES(8,1794892059000000,'Published',1,'{"at":"2026-11-17T05:07:39+00:00","audience":"web","group":"web","epoch":"d1b58592","incarnation":2}');
INSERT INTO "journal" VALUES(9,1794892059000000,'Announced',1,'{"at":"2026-11-17T05:07:39+00:00","by":"admin","maintenance":"B2F97C8C-33C7-44EC-A489-7ADE7530A673","announced":{"id":"B2F97C8C-33C7-44EC-A489-7ADE7530A673","type":"Reboot","source":"User","cause":"user-restart","host":null,"vms":["web-2"],"not_before":"2026-11-17T05:22:39+00:00","at_once":false,"promised":900,"duration":-1,"description":"Virtual machine is going to be restarted as requested by authorized user.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"SCHEDULED","started_at":null,"ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"D58C7055-708F-4F53-8424-393F88AD6D33","group":"web","resources":["web-2"],"paas":[],"update_domain":2,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}}');
INSERT INTO "journal" VALUES(10,1794892059000000,'Published',1,'{"at":"2026-11-17T05:07:39+00:00","audience":"web","group":"web","epoch":"d1b58592","incarnation":3}');
INSERT INTO "journal" VALUES(11,1794892059000000,'Announced',1,'{"at":"2026-11-17T05:07:39+00:00","by":"admin","maintenance":"A3F967C9-5166-4037-A5F8-D751304AA07B","announced":{"id":"A3F967C9-5166-4037-A5F8-D751304AA07B","type":"Redeploy","source":"Platform","cause":"degraded","host":"host-c","vms":["batch_3","web-2"],"not_before":"2026-11-24T05:07:39+00:00","at_once":false,"promised":600,"duration":-1,"description":"Host server is undergoing an emergency repair.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"SCHEDULED","started_at":null,"ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"DCAF2C84-9A60-40C1-9722-B4E8B5C55B7F","group":"batch","resources":["batch_3"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"645370BC-DA40-455A-BECC-6C6A78A5AFC4","group":"web","resources":["web-2"],"paas":[],"update_domain":2,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}}');
INSERT INTO "journal" VALUES(12,1794892059000000,'Published',1,'{"at":"2026-11-17T05:07:39+00:00","audience":"batch","group":"batch","epoch":"d1b58592","incarnation":2}');
INSERT INTO "journal" VALUES(13,1794892059000000,'Published',1,'{"at":"2026-11-17T05:07:39+00:00","audience":"web","group":"web","epoch":"d1b58592","incarnation":4}');
INSERT INTO "journal" VALUES(14,1794892059000000,'Seen',1,'{"at":"2026-11-17T05:07:39+00:00","sights":[{"event":"A6A663F3-421E-4013-AA50-9BBE282A43B1","vm":"web-0","at":"2026-11-17T05:07:39+00:00"},{"event":"4D6F01ED-C182-4B9B-B402-1B71DFEE5977","vm":"web-0","at":"2026-11-17T05:07:39+00:00"},{"event":"D58C7055-708F-4F53-8424-393F88AD6D33","vm":"web-0","at":"2026-11-17T05:07:39+00:00"},{"event":"645370BC-DA40-455A-BECC-6C6A78A5AFC4","vm":"web-0","at":"2026-11-17T05:07:39+00:00"}]}');
INSERT INTO "journal" VALUES(15,1794892059000000,'Approved',1,'{"at":"2026-11-17T05:07:39+00:00","by":"web-0","via":"metadata","maintenance":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40","event":"A6A663F3-421E-4013-AA50-9BBE282A43B1","group":"web"}');
INSERT INTO "journal" VALUES(16,1794892059000000,'Started',1,'{"at":"2026-11-17T05:07:39+00:00","maintenance":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40"}');
INSERT INTO "journal" VALUES(17,1794892059000000,'Published',1,'{"at":"2026-11-17T05:07:39+00:00","audience":"web","group":"web","epoch":"d1b58592","incarnation":5}');
INSERT INTO "journal" VALUES(18,1794892061000000,'WorkBegan',1,'{"at":"2026-11-17T05:07:41+00:00","maintenance":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40","attempt":1}');
INSERT INTO "journal" VALUES(19,1794892959000000,'Started',1,'{"at":"2026-11-17T05:22:39+00:00","maintenance":"B2F97C8C-33C7-44EC-A489-7ADE7530A673"}');
INSERT INTO "journal" VALUES(20,1794892959000000,'Published',1,'{"at":"2026-11-17T05:22:39+00:00","audience":"web","group":"web","epoch":"d1b58592","incarnation":6}');
INSERT INTO "journal" VALUES(21,1794892961000000,'WorkBegan',1,'{"at":"2026-11-17T05:22:41+00:00","maintenance":"B2F97C8C-33C7-44EC-A489-7ADE7530A673","attempt":1}');
INSERT INTO "journal" VALUES(22,1794893259000000,'TokenCreated',1,'{"at":"2026-11-17T05:27:39+00:00","by":"admin","token":"7443a3f96e14","name":"ops","role":"operator","group":null,"expires_at":null}');
INSERT INTO "journal" VALUES(23,1794893259000000,'Announced',1,'{"at":"2026-11-17T05:27:39+00:00","by":"admin","maintenance":"7EA00970-4B29-4439-936A-B90B9FDC29C0","announced":{"id":"7EA00970-4B29-4439-936A-B90B9FDC29C0","type":"Reboot","source":"Platform","cause":"host-failure","host":"host-a","vms":["batch_0","db-0","web-0"],"not_before":"2026-11-17T05:27:39+00:00","at_once":true,"promised":0,"duration":-1,"description":"Virtual machine has encountered a failure.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:27:39+00:00","announced_by":"admin","phase":"SCHEDULED","started_at":null,"ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"0FCA3E5C-237A-4594-BA0B-87A4631F656F","group":"batch","resources":["batch_0"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"1C5311DE-A1A8-4A86-9F50-08F2E69E7E4F","group":"db-0","resources":["db-0"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"14B94BB3-12F0-4363-82B9-D12CFAD94077","group":"web","resources":["web-0"],"paas":[],"update_domain":0,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}}');
INSERT INTO "journal" VALUES(24,1794893259000000,'Started',1,'{"at":"2026-11-17T05:27:39+00:00","maintenance":"7EA00970-4B29-4439-936A-B90B9FDC29C0"}');
INSERT INTO "journal" VALUES(25,1794893259000000,'Published',1,'{"at":"2026-11-17T05:27:39+00:00","audience":"batch","group":"batch","epoch":"d1b58592","incarnation":3}');
INSERT INTO "journal" VALUES(26,1794893259000000,'Published',1,'{"at":"2026-11-17T05:27:39+00:00","audience":"db-0","group":"db-0","epoch":"d1b58592","incarnation":1}');
INSERT INTO "journal" VALUES(27,1794893259000000,'Published',1,'{"at":"2026-11-17T05:27:39+00:00","audience":"web","group":"web","epoch":"d1b58592","incarnation":7}');
CREATE TABLE maintenances (
	id VARCHAR(40) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	phase VARCHAR(16) NOT NULL, 
	moment BIGINT, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (ordinal)
);
INSERT INTO "maintenances" VALUES('A6E63124-16A4-4E26-AAC9-EE1E47ACEF40',18,'STARTED',NULL,'{"id":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40","type":"Reboot","source":"Platform","cause":"platform","host":null,"vms":["web-0"],"not_before":"2026-11-17T05:22:39+00:00","at_once":false,"promised":900,"duration":-1,"description":"Host server is undergoing maintenance.","reason":"kernel","emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"STARTED","started_at":"2026-11-17T05:07:39+00:00","ended_at":null,"coupled":[],"attempt":1,"tries":1,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"A6A663F3-421E-4013-AA50-9BBE282A43B1","group":"web","resources":["web-0"],"paas":[],"update_domain":0,"approved_by":"web-0","approved_via":"metadata","approved_at":"2026-11-17T05:07:39+00:00","withdrawn_at":null,"silent":false}]}');
INSERT INTO "maintenances" VALUES('EDD620C9-E10C-4886-B660-78F5CFD339CC',19,'SCHEDULED',NULL,'{"id":"EDD620C9-E10C-4886-B660-78F5CFD339CC","type":"Freeze","source":"Platform","cause":"platform","host":"host-b","vms":["batch_1","batch_2","web-1"],"not_before":"2026-11-17T05:22:39+00:00","at_once":false,"promised":900,"duration":9,"description":"Host server is undergoing maintenance.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"SCHEDULED","started_at":null,"ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"EBA02EC8-CF7E-42B5-A0E1-46FD9BC0C43D","group":"batch","resources":["batch_1","batch_2"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"4D6F01ED-C182-4B9B-B402-1B71DFEE5977","group":"web","resources":["web-1"],"paas":[],"update_domain":1,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}');
INSERT INTO "maintenances" VALUES('B2F97C8C-33C7-44EC-A489-7ADE7530A673',20,'STARTED',NULL,'{"id":"B2F97C8C-33C7-44EC-A489-7ADE7530A673","type":"Reboot","source":"User","cause":"user-restart","host":null,"vms":["web-2"],"not_before":"2026-11-17T05:22:39+00:00","at_once":false,"promised":900,"duration":-1,"description":"Virtual machine is going to be restarted as requested by authorized user.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"STARTED","started_at":"2026-11-17T05:22:39+00:00","ended_at":null,"coupled":[],"attempt":1,"tries":1,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"D58C7055-708F-4F53-8424-393F88AD6D33","group":"web","resources":["web-2"],"paas":[],"update_domain":2,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}');
INSERT INTO "maintenances" VALUES('A3F967C9-5166-4037-A5F8-D751304AA07B',21,'SCHEDULED',1795496859000000,'{"id":"A3F967C9-5166-4037-A5F8-D751304AA07B","type":"Redeploy","source":"Platform","cause":"degraded","host":"host-c","vms":["batch_3","web-2"],"not_before":"2026-11-24T05:07:39+00:00","at_once":false,"promised":600,"duration":-1,"description":"Host server is undergoing an emergency repair.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:07:39+00:00","announced_by":"admin","phase":"SCHEDULED","started_at":null,"ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"DCAF2C84-9A60-40C1-9722-B4E8B5C55B7F","group":"batch","resources":["batch_3"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"645370BC-DA40-455A-BECC-6C6A78A5AFC4","group":"web","resources":["web-2"],"paas":[],"update_domain":2,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}');
INSERT INTO "maintenances" VALUES('7EA00970-4B29-4439-936A-B90B9FDC29C0',22,'STARTED',NULL,'{"id":"7EA00970-4B29-4439-936A-B90B9FDC29C0","type":"Reboot","source":"Platform","cause":"host-failure","host":"host-a","vms":["batch_0","db-0","web-0"],"not_before":"2026-11-17T05:27:39+00:00","at_once":true,"promised":0,"duration":-1,"description":"Virtual machine has encountered a failure.","reason":null,"emergency":false,"ignore_gates":false,"announced_at":"2026-11-17T05:27:39+00:00","announced_by":"admin","phase":"STARTED","started_at":"2026-11-17T05:27:39+00:00","ended_at":null,"coupled":[],"attempt":0,"tries":0,"done":[],"left":[],"stuck_since":null,"removes":false,"completed_by":null,"events":[{"id":"0FCA3E5C-237A-4594-BA0B-87A4631F656F","group":"batch","resources":["batch_0"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"1C5311DE-A1A8-4A86-9F50-08F2E69E7E4F","group":"db-0","resources":["db-0"],"paas":[],"update_domain":null,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false},{"id":"14B94BB3-12F0-4363-82B9-D12CFAD94077","group":"web","resources":["web-0"],"paas":[],"update_domain":0,"approved_by":null,"approved_via":null,"approved_at":null,"withdrawn_at":null,"silent":false}]}');
CREATE TABLE outages (
	since BIGINT NOT NULL, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (since)
);
CREATE TABLE receipts (
	"key" VARCHAR(255) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	answer TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "receipts" VALUES('4ecb87dff08fb21fe8f4ba280ac45867feb54d75e69ee18a26d666eed929d8f9','7020793ee729516df1c142ae4334157c4824183b0db10848464ce3abad21f2e7','201
{"maintenances":[{"id":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40","type":"Reboot","source":"Platform","cause":"platform","phase":"SCHEDULED","host":null,"vms":["web-0"],"not_before":"2026-11-17T05:22:39Z","duration_seconds":-1,"description":"Host server is undergoing maintenance.","announced_at":"2026-11-17T05:07:39Z","started_at":null,"ended_at":null,"stuck_since":null,"reason":"kernel","events":[{"id":"A6A663F3-421E-4013-AA50-9BBE282A43B1","maintenance":"A6E63124-16A4-4E26-AAC9-EE1E47ACEF40","group":"web","resources":["web-0"],"status":"Scheduled","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]}]}]}',1794892059000000);
INSERT INTO "receipts" VALUES('061541c5de794c9de57fb23c71d4c166a658ce0102a49eef0aba6138ede7bad6','2b9dac45fb4a5d0e677e76ca93ca6055564adb8a6d807c5566c91892b57b4801','201
{"maintenances":[{"id":"EDD620C9-E10C-4886-B660-78F5CFD339CC","type":"Freeze","source":"Platform","cause":"platform","phase":"SCHEDULED","host":"host-b","vms":["batch_1","batch_2","web-1"],"not_before":"2026-11-17T05:22:39Z","duration_seconds":9,"description":"Host server is undergoing maintenance.","announced_at":"2026-11-17T05:07:39Z","started_at":null,"ended_at":null,"stuck_since":null,"reason":null,"events":[{"id":"EBA02EC8-CF7E-42B5-A0E1-46FD9BC0C43D","maintenance":"EDD620C9-E10C-4886-B660-78F5CFD339CC","group":"batch","resources":["batch_1","batch_2"],"status":"Scheduled","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]},{"id":"4D6F01ED-C182-4B9B-B402-1B71DFEE5977","maintenance":"EDD620C9-E10C-4886-B660-78F5CFD339CC","group":"web","resources":["web-1"],"status":"Scheduled","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]}]}]}',1794892059000000);
INSERT INTO "receipts" VALUES('c756935abc3c2b567727b2e3e62ec5046b876a24d23e24a5f3e8661fbf87d7f4','6bd5e11fcc45d27418f0a75ab3047a90fd06f9e021c54799505216ca936c55d1','201
{"maintenances":[{"id":"B2F97C8C-33C7-44EC-A489-7ADE7530A673","type":"Reboot","source":"User","cause":"user-restart","phase":"SCHEDULED","host":null,"vms":["web-2"],"not_before":"2026-11-17T05:22:39Z","duration_seconds":-1,"description":"Virtual machine is going to be restarted as requested by authorized user.","announced_at":"2026-11-17T05:07:39Z","started_at":null,"ended_at":null,"stuck_since":null,"reason":null,"events":[{"id":"D58C7055-708F-4F53-8424-393F88AD6D33","maintenance":"B2F97C8C-33C7-44EC-A489-7ADE7530A673","group":"web","resources":["web-2"],"status":"Scheduled","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]}]}]}',1794892059000000);
INSERT INTO "receipts" VALUES('62a1875bdfe7ca9fa2575f91325a566861d563f1e9129e3ba3d136678ddcb903','1c7687ba041c1fbde603cc396104b0d1f8cf140dc1cfcd23a4a6a41c6c923a23','201
{"maintenances":[{"id":"A3F967C9-5166-4037-A5F8-D751304AA07B","type":"Redeploy","source":"Platform","cause":"degraded","phase":"SCHEDULED","host":"host-c","vms":["batch_3","web-2"],"not_before":"2026-11-24T05:07:39Z","duration_seconds":-1,"description":"Host server is undergoing an emergency repair.","announced_at":"2026-11-17T05:07:39Z","started_at":null,"ended_at":null,"stuck_since":null,"reason":null,"events":[{"id":"DCAF2C84-9A60-40C1-9722-B4E8B5C55B7F","maintenance":"A3F967C9-5166-4037-A5F8-D751304AA07B","group":"batch","resources":["batch_3"],"status":"Scheduled","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]},{"id":"645370BC-DA40-455A-BECC-6C6A78A5AFC4","maintenance":"A3F967C9-5166-4037-A5F8-D751304AA07B","group":"web","resources":["web-2"],"status":"Scheduled","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]}]}]}',1794892059000000);
INSERT INTO "receipts" VALUES('542a4d602fbc745c68c279eb8e4c6788517b30e02811730f9c930731a1ce0683','d1e162013d283ee1d796e8baf157f9afc0b2aab2c34a2bc651e65455ab8ec9ed','200
{"clock":"manual","now":"2026-11-17T05:27:39Z"}',1794893259000000);
INSERT INTO "receipts" VALUES('d8f35928263c1c3233071b29836eea98b5b9d110a1d29fe858262d5a7c189007','cd602fad9de375b52dec580e9f708c3138b943cb4b8642b4ca9acf17e94d981e','201
{"maintenances":[{"id":"7EA00970-4B29-4439-936A-B90B9FDC29C0","type":"Reboot","source":"Platform","cause":"host-failure","phase":"STARTED","host":"host-a","vms":["batch_0","db-0","web-0"],"not_before":"2026-11-17T05:27:39Z","duration_seconds":-1,"description":"Virtual machine has encountered a failure.","announced_at":"2026-11-17T05:27:39Z","started_at":"2026-11-17T05:27:39Z","ended_at":null,"stuck_since":null,"reason":null,"events":[{"id":"0FCA3E5C-237A-4594-BA0B-87A4631F656F","maintenance":"7EA00970-4B29-4439-936A-B90B9FDC29C0","group":"batch","resources":["batch_0"],"status":"Started","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]},{"id":"1C5311DE-A1A8-4A86-9F50-08F2E69E7E4F","maintenance":"7EA00970-4B29-4439-936A-B90B9FDC29C0","group":"db-0","resources":["db-0"],"status":"Started","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]},{"id":"14B94BB3-12F0-4363-82B9-D12CFAD94077","maintenance":"7EA00970-4B29-4439-936A-B90B9FDC29C0","group":"web","resources":["web-0"],"status":"Started","approved_by":null,"approved_via":null,"approved_at":null,"seen_by":[]}]}]}',1794893259000000);
INSERT INTO "receipts" VALUES('715739d76772dc1c2e0a609e2d436abc4d08287d3d7f0f51780b2c7d642fdf59','1a39c5d3de5e125879b4b76d7cc73f5089af4ba2e1ead797a9170bdc350a8a0b','200
{"clock":"manual","now":"2026-11-17T06:27:39Z"}',1794896859000000);
CREATE TABLE seen (
	event VARCHAR(40) NOT NULL, 
	vm VARCHAR(80) NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (event, vm)
);
INSERT INTO "seen" VALUES('A6A663F3-421E-4013-AA50-9BBE282A43B1','web-0',1794892059000000);
INSERT INTO "seen" VALUES('4D6F01ED-C182-4B9B-B402-1B71DFEE5977','web-0',1794892059000000);
INSERT INTO "seen" VALUES('D58C7055-708F-4F53-8424-393F88AD6D33','web-0',1794892059000000);
INSERT INTO "seen" VALUES('645370BC-DA40-455A-BECC-6C6A78A5AFC4','web-0',1794892059000000);
CREATE TABLE settings (
	name VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "settings" VALUES('first-vm','web-0');
INSERT INTO "settings" VALUES('fleet','9162d322edbb07449806708a863581106f1af7b18f72d5273e2a88056585dbd8');
INSERT INTO "settings" VALUES('heartbeat','2026-11-17T06:27:39+00:00');
INSERT INTO "settings" VALUES('clock','2026-11-17T06:27:39+00:00');
CREATE TABLE tokens (
	id VARCHAR(40) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	last_used BIGINT, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "tokens" VALUES('7443a3f96e14',21,NULL,'{"id":"7443a3f96e14","name":"ops","role":"operator","group":null,"digest":"4c2b39745c7f4bb27b6c9bbf9e16686a5b942a3b90a1bbf9875fe8eac6d5b166","created_at":"2026-11-17T05:27:39+00:00","created_by":"admin","expires_at":null,"revoked_at":null,"last_used":null}');
CREATE TABLE vms (
	name VARCHAR(80) NOT NULL, 
	"key" VARCHAR(80) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	"group" VARCHAR(80) NOT NULL, 
	host VARCHAR(80), 
	body TEXT NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE ("key")
);
INSERT INTO "vms" VALUES('web-0','web-0',7,'web','host-a','{"name":"web-0","group":"web","host":"host-a","update_domain":0,"fault_domain":0,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"web"},"size":"Standard_D2s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
INSERT INTO "vms" VALUES('web-1','web-1',8,'web','host-b','{"name":"web-1","group":"web","host":"host-b","update_domain":1,"fault_domain":1,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"web"},"size":"Standard_D2s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
INSERT INTO "vms" VALUES('web-2','web-2',9,'web','host-c','{"name":"web-2","group":"web","host":"host-c","update_domain":2,"fault_domain":2,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"web"},"size":"Standard_D2s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
INSERT INTO "vms" VALUES('db-0','db-0',10,'db-0','host-a','{"name":"db-0","group":"db-0","host":"host-a","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":false,"paas":false,"tags":{"role":"db"},"size":"Standard_E4s_v5","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
INSERT INTO "vms" VALUES('batch_0','batch_0',11,'batch','host-a','{"name":"batch_0","group":"batch","host":"host-a","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
INSERT INTO "vms" VALUES('batch_1','batch_1',12,'batch','host-b','{"name":"batch_1","group":"batch","host":"host-b","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
INSERT INTO "vms" VALUES('batch_2','batch_2',13,'batch','host-b','{"name":"batch_2","group":"batch","host":"host-b","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
INSERT INTO "vms" VALUES('batch_3','batch_3',14,'batch','host-c','{"name":"batch_3","group":"batch","host":"host-c","update_domain":null,"fault_domain":null,"zone":null,"addresses":[],"spot":true,"paas":false,"tags":{},"size":"Standard_F4s_v2","location":"westeurope","resource_group":"demo","subscription":"00000000-0000-0000-0000-000000000000","vm_id":null}');
CREATE INDEX ix_addresses_vm ON addresses (vm);
CREATE INDEX ix_audiences_group ON audiences ("group");
CREATE INDEX involved_live ON involved ("group", live);
CREATE INDEX ix_maintenances_moment ON maintenances (moment);
CREATE INDEX ix_maintenances_phase ON maintenances (phase);
CREATE INDEX ix_outages_until ON outages (until);
CREATE INDEX ix_vms_group ON vms ("group");
CREATE INDEX ix_vms_host ON vms (host);
COMMIT;
